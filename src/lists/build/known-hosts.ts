import type { Guards } from '../../asset-check/lists/guards.js';
import { formOf, withParents } from '../expressions.js';
import { ALLOWED, type Listed, SPECIAL } from './listed.js';
import { rootOf, type SuffixIndex } from './suffixes.js';

const SIGNS = 'abcdefghijklmnopqrstuvwxyz0123456789-_.';

/** Returns the names that differ from one of these by at most one edit. */
export const formsOf = (names: Iterable<string>): Set<string> => {
  const forms = new Set<string>();
  for (const name of names)
    for (let at = 0; at <= name.length; at += 1) {
      const [before, after] = [name.slice(0, at), name.slice(at)];
      forms.add(before + after.slice(1)).add(name);
      for (const sign of SIGNS) forms.add(before + sign + after).add(before + sign + after.slice(1));
    }
  return forms;
};

/**
 * Adds the hosts without an entry where a verdict may differ from that of the host above: suffixes and guarded hosts,
 * at which what an entry above says ends, and `www.` of a guarded host.
 */
export const addBoundaries = (
  { hosts }: Listed,
  { byRoot }: SuffixIndex,
  guards: Guards | undefined,
  forms: ReadonlySet<string>,
): void => {
  const isBelow = (host: string): boolean => withParents(host).some((one) => hosts.has(one));
  const added: string[] = [];
  const roots = new Set(Array.from(hosts.keys(), (host) => rootOf(host)!));
  for (const root of roots) for (const host of byRoot.get(root) ?? []) if (isBelow(host)) added.push(host);
  for (const host of guards?.hosts() ?? [])
    for (const name of [host, `www.${host}`]) if (isBelow(name) || forms.has(formOf(name))) added.push(name);
  for (const host of added) hosts.set(host, (hosts.get(host) ?? 0) | SPECIAL);
};

/**
 * Keeps the flag ALLOWED only of hosts below which an imitation may be: a client that finds such a host not blocked
 * asks about an imitation. Marks the hosts that are imitations themselves.
 */
export const markImitable = ({ hosts }: Listed, forms: ReadonlySet<string>): void => {
  const ends = new Set<string>();
  for (const form of forms) for (let at = 0; at < form.length; at += 1) ends.add(form.slice(at));
  for (const [host, flags] of hosts) {
    const name = host.slice(0, host.lastIndexOf('.'));
    const kept = ends.has(name) || ends.has(name.replace('www.', '')) ? flags : flags & ~ALLOWED;
    const marked = forms.has(formOf(host)) ? kept | SPECIAL : kept;
    if (marked !== flags) hosts.set(host, marked);
  }
};
