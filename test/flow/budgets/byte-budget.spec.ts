import { describe, expect, it } from '@jest/globals';
import { TooManyRequests, Unavailable } from '../../../src/errors.js';
import { ByteBudget, Charge } from '../../../src/flow/budgets.js';

const budgetOf = (limits: {
  perOwner: number;
  total: number;
  smallSize?: number;
  reservedForSmall?: number;
}): ByteBudget => new ByteBudget({ name: 'request bodies', smallSize: 0, reservedForSmall: 0, ...limits });

describe('A byte budget', () => {
  it('charges an owner for announced bytes, and the total for bytes that have arrived', () => {
    const budget = budgetOf({ perOwner: 10, total: 15 });
    const [one, two, three] = [new Charge(budget, 'a'), new Charge(budget, 'a'), new Charge(budget, 'b')];
    one.announce(6);
    expect(() => two.announce(5)).toThrow(TooManyRequests);
    two.announce(4);
    expect(budget.total).toBe(0);
    one.add(6);
    two.add(4);
    expect(() => two.add(1)).toThrow('Concurrent request bodies of this organization exceed 10 bytes; try again');
    expect(() => three.announce(6)).toThrow(Unavailable);
    three.add(5);
    expect(() => three.add(1)).toThrow('Too many large request bodies at once; try again');
    expect(budget.total).toBe(15);
    for (const charge of [one, two, three, one]) charge.release();
    expect(budget.total).toBe(0);
    new Charge(budget, 'b').announce(10);
  });

  it('charges nothing to a charge that has been released', () => {
    const budget = budgetOf({ perOwner: 10, total: 15 });
    const released = new Charge(budget, 'a');
    released.announce(6);
    released.release();
    expect(() => released.announce(6)).toThrow('released');
    expect(() => released.add(6)).toThrow('released');
    expect(budget.total).toBe(0);
    new Charge(budget, 'a').announce(10);
  });

  it('reserves the last part of the total for small items', () => {
    const budget = budgetOf({ perOwner: 100, total: 100, smallSize: 5, reservedForSmall: 20 });
    new Charge(budget, 'a').add(80);
    expect(() => new Charge(budget, 'b').add(6)).toThrow(Unavailable);
    expect(() => new Charge(budget, 'b').announce(6)).toThrow(Unavailable);
    const grown = new Charge(budget, 'b');
    grown.add(5);
    expect(() => grown.add(1)).toThrow(Unavailable);
    for (const owner of ['c', 'd', 'e']) new Charge(budget, owner).add(5);
    expect(budget.total).toBe(100);
    expect(() => new Charge(budget, 'f').add(1)).toThrow(Unavailable);
  });

  it('accepts an item over a limit only while no other item is held', () => {
    const budget = budgetOf({ perOwner: 10, total: 15 });
    const large = new Charge(budget, 'a');
    large.add(20);
    expect(() => new Charge(budget, 'a').announce(1)).toThrow(Unavailable);
    expect(() => new Charge(budget, 'b').add(1)).toThrow(Unavailable);
    large.release();
    new Charge(budget, 'b').add(1);
    expect(() => new Charge(budget, 'a').add(15)).toThrow(Unavailable);
  });

  it('reports when more than half of the total is held', () => {
    const budget = budgetOf({ perOwner: 10, total: 10 });
    const charge = new Charge(budget, 'a');
    charge.announce(10);
    charge.add(5);
    expect(budget.isOverHalf).toBe(false);
    charge.add(1);
    expect(budget.isOverHalf).toBe(true);
  });
});
