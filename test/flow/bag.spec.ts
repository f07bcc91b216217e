import { describe, expect, it } from '@jest/globals';
import { Bag, type BagMember } from '../../src/flow/bag.js';

describe('A bag', () => {
  it('has the same members as a Set after any additions and deletions', () => {
    const [bag, set] = [new Bag<BagMember>(), new Set<BagMember>()];
    const all = Array.from({ length: 20 }, () => ({ bagIndex: 0 }));
    let random = 1;
    const differences: string[] = [];
    for (let step = 0; step < 2_000; step += 1) {
      random = (random * 48_271) % 2_147_483_647;
      const member = all[random % all.length]!;
      const isIn = set.delete(member);
      if (bag.delete(member) !== isIn) differences.push(`Step ${step}: the set says ${isIn}`);
      if (!isIn) {
        bag.add(member);
        set.add(member);
      }
      if (bag.size !== set.size || [...bag].some((one) => !set.has(one))) differences.push(`Step ${step}: they differ`);
    }
    expect(differences).toEqual([]);
  });

  it('yields each member once, without members deleted or added during the iteration', () => {
    const bag = new Bag<BagMember & { readonly name: string }>();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => ({ name, bagIndex: 0 }));
    for (const member of [a!, b!, c!, d!]) bag.add(member);
    const seen: string[] = [];
    for (const member of bag) {
      seen.push(member.name);
      bag.delete(member);
      bag.delete(c!);
      if (member === a) bag.add({ name: 'e', bagIndex: 0 });
    }
    expect(seen).toEqual(['a', 'b', 'd']);
    expect([...bag].map(({ name }) => name)).toEqual(['e']);
  });
});
