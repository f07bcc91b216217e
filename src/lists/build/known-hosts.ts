import type { FuzzyList } from '../../asset-check/lists/json-list.js';
import type { Guards } from '../../asset-check/lists/guards.js';
import { CooperativeYield } from '../../flow/time.js';
import { formOf, withParents } from '../expressions.js';
import { ALLOWED, ENTRIES_PER_LOOK, type Listed, SPECIAL } from './listed.js';
import { rootOf, type SuffixIndex } from './suffixes.js';

const SIGNS = 'abcdefghijklmnopqrstuvwxyz0123456789-_.';
/** Maximum length of the names that phishers imitate, together; each character leads to some 80 expressions. */
const MAX_CHARACTERS = 1_500;

/** Whether all imitations can be listed: with more than one edit, or many names, there are too many. */
export const areListable = (fuzzy: FuzzyList | undefined): boolean =>
  fuzzy === undefined ||
  fuzzy.tolerance < 1 ||
  (fuzzy.tolerance === 1 && fuzzy.names.reduce((sum, { length }) => sum + length, 0) <= MAX_CHARACTERS);

/** The names that differ from one of others by at most one edit. */
export class Imitations {
  readonly forms = new Set<string>();

  constructor(private readonly names: readonly string[]) {
    for (const name of names)
      for (let at = 0; at <= name.length; at += 1) {
        const [before, after] = [name.slice(0, at), name.slice(at)];
        this.forms.add(before + after.slice(1)).add(name);
        for (const sign of SIGNS) this.forms.add(before + sign + after).add(before + sign + after.slice(1));
      }
  }

  has(name: string): boolean {
    return this.forms.has(name);
  }

  /** Whether an imitation may be below a host. */
  mayBeBelow(host: string): boolean {
    const name = host.slice(0, host.lastIndexOf('.'));
    return this.mayEndWith(name) || this.mayEndWith(name.replace('www.', ''));
  }

  private mayEndWith(end: string): boolean {
    return this.names.some((name) =>
      [-1, 0, 1].some((more) => isWithinOneEdit(end, name.slice(Math.max(0, name.length - end.length - more)))),
    );
  }
}

const isWithinOneEdit = (one: string, other: string): boolean => {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let [ofOne, ofOther] = [one.length, other.length];
  while (ofOne > start && ofOther > start && one[ofOne - 1] === other[ofOther - 1]) {
    ofOne -= 1;
    ofOther -= 1;
  }
  return ofOne - start <= 1 && ofOther - start <= 1;
};

/** Adds the suffixes below known hosts, at which what an entry above says ends. Lets other work run in between. */
export const addSuffixes = async (listed: Listed, { byRoot }: SuffixIndex): Promise<void> => {
  const yielding = new CooperativeYield();
  let seen = 0;
  const roots = new Set<string>();
  for (const host of listed.hosts.keys()) {
    const root = rootOf(host)!;
    if (byRoot.has(root)) roots.add(root);
    if (++seen % ENTRIES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
  }
  const below: string[] = [];
  for (const root of roots)
    for (const suffix of byRoot.get(root)!)
      if (withParents(suffix).some((one) => listed.hosts.has(one))) below.push(suffix);
  for (const suffix of below) listed.addHost(suffix, SPECIAL);
};

/**
 * Returns the guarded hosts at or below a host with an entry in a list, or that are imitations, and `www.` of each: an
 * entry above does not block them. Guards do not concern own statuses. Lets other work run in between.
 */
export const guardedBelow = async ({ hosts }: Listed, guards: Guards, imitations: Imitations): Promise<string[]> => {
  const yielding = new CooperativeYield();
  let seen = 0;
  const found: string[] = [];
  for (const host of guards.hosts()) {
    if (++seen % ENTRIES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
    for (const name of [host, `www.${host}`])
      if (withParents(name).some((one) => hosts.has(one)) || imitations.has(formOf(name))) found.push(name);
  }
  return found;
};

/**
 * Keeps the flag ALLOWED only of hosts below which an imitation may be: a client that finds such a host not blocked
 * asks about an imitation. Marks the hosts that are imitations themselves. Lets other work run in between.
 */
export const markImitable = async ({ hosts }: Listed, imitations: Imitations): Promise<void> => {
  const yielding = new CooperativeYield();
  let seen = 0;
  for (const [host, flags] of hosts) {
    if (++seen % ENTRIES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
    let marked = imitations.forms.size > 0 && imitations.has(formOf(host)) ? flags | SPECIAL : flags;
    if ((flags & ALLOWED) !== 0 && !imitations.mayBeBelow(host)) marked &= ~ALLOWED;
    if (marked !== flags) hosts.set(host, marked);
  }
};
