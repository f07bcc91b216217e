import { describe, expect, it } from '@jest/globals';
import { TooManyRequests, Unavailable } from '../../src/errors.js';
import { ByteBudget, Charge } from '../../src/flow/byte-budget.js';

const budgetOf = (limits: { each: number; all: number; small?: number; keptForSmall?: number }): ByteBudget =>
  new ByteBudget({ name: 'request bodies', small: 0, keptForSmall: 0, ...limits });

describe('A byte budget', () => {
  it('counts for a lane what is announced, for all what has arrived', () => {
    const budget = budgetOf({ each: 10, all: 15 });
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
    three.announce(10);
  });

  it('keeps the last part of the total for small ones', () => {
    const budget = budgetOf({ each: 100, all: 100, small: 5, keptForSmall: 20 });
    new Charge(budget, 'a').add(80);
    expect(() => new Charge(budget, 'b').add(6)).toThrow(Unavailable);
    expect(() => new Charge(budget, 'b').announce(6)).toThrow(Unavailable);
    const grown = new Charge(budget, 'b');
    grown.add(5);
    expect(() => grown.add(1)).toThrow(Unavailable);
    for (const lane of ['c', 'd', 'e']) new Charge(budget, lane).add(5);
    expect(budget.total).toBe(100);
    expect(() => new Charge(budget, 'f').add(1)).toThrow(Unavailable);
  });

  it('lets in alone what is larger than a limit', () => {
    const budget = budgetOf({ each: 10, all: 15 });
    const large = new Charge(budget, 'a');
    large.add(20);
    expect(() => new Charge(budget, 'a').announce(1)).toThrow(Unavailable);
    expect(() => new Charge(budget, 'b').add(1)).toThrow(Unavailable);
    large.release();
    new Charge(budget, 'b').add(1);
    expect(() => large.add(15)).toThrow(Unavailable);
  });

  it('says when over half of it is held', () => {
    const budget = budgetOf({ each: 10, all: 10 });
    const charge = new Charge(budget, 'a');
    charge.announce(10);
    charge.add(5);
    expect(budget.isOverHalf).toBe(false);
    charge.add(1);
    expect(budget.isOverHalf).toBe(true);
  });
});
