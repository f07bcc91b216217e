import { CooperativeYield } from '../../flow/time.js';
import {
  ANY_QUERY,
  EXACTLY,
  BLOCKED,
  flagsForHost,
  flagsForSubdomains,
  type HostTable,
  hashOfText,
  textsOf,
  SuffixHashes,
} from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type Entry, prefixOf, readEntry, type Rejection } from './list-entry.js';
import type { GuardedHosts, GuardOfHost } from '../../verdicts.js';
import type { SourceResult } from '../verdict.js';

/** A guard: a list of hosts that no other list may block as a whole. */
export interface Guard {
  readonly settings: { readonly id: string };
  /** Undefined if the guard was never read. */
  readonly table: HostTable | undefined;
  /** The domains above its hosts from which the hosts inherit. */
  readonly above?: HostTable | undefined;
  /** Changes whenever `table` changes. */
  readonly version: number;
}

/** The BLOCKED entries of a list that a guard overrules. */
export interface OverruledEntries {
  readonly count: number;
  /** The first entries in the order of the guard, as the list spells them. */
  readonly examples: readonly { readonly entry: string; readonly guard: string }[];
}

const MAX_EXAMPLES = 100;
const WWW = 'www.';
const DOT = 0x2e;
const ENTRIES_PER_CHECK = 256;
const HOSTS_ONLY = { pages: false, accounts: false };

/** Reads an entry of a guard, which must be a host. `www.` of a host stands for the host. */
export const readGuardedHost = (text: string, suffixes: HostingSuffixes): Entry | Rejection => {
  const entry = readEntry(text, suffixes, HOSTS_ONLY);
  if (typeof entry === 'string') return entry;
  if (entry.subdomainsOnly || prefixOf(entry.key) !== undefined) return 'unsupported';
  const host = entry.key.startsWith(WWW) ? entry.key.slice(WWW.length) : entry.key;
  return host.includes('.') && !suffixes.isRegistrySuffix(host) ? { key: host, subdomainsOnly: false } : entry;
};

/** Whether `www.` is directly before the domain that begins at `start`. */
const followsWww = (host: string, start: number): boolean =>
  start >= WWW.length &&
  host.startsWith(WWW, start - WWW.length) &&
  (start === WWW.length || host.charCodeAt(start - WWW.length - 1) === DOT);

/** The configured guards. A guard of a host also guards `www.` of that host. */
export class Guards implements GuardedHosts {
  private readonly hashes = new SuffixHashes();

  constructor(private readonly guards: readonly Guard[] = []) {}

  /** Whether every guard was read. */
  get areLoaded(): boolean {
    return this.guards.every(({ table }) => table !== undefined);
  }

  /** Changes whenever a guard changes. */
  get version(): number {
    return this.guards.reduce((sum, { version }) => sum + version, 0);
  }

  /** Yields the guarded hosts. One may be yielded again. */
  *hosts(): Generator<string> {
    for (const { table } of this.guards) if (table !== undefined) yield* textsOf(table);
  }

  /**
   * Returns the id of the guard that overrules a BLOCKED entry: the guard contains the host, or a domain above it, and
   * the entry blocks this guarded host as a whole.
   * @param hashes the hashes of the host
   * @param covered the length of the shortest host, of `host` and the domains above it, that the entry blocks
   */
  find(host: string, { count, starts, hashes }: SuffixHashes, covered: number): string | undefined {
    for (const { settings, table } of this.guards)
      for (let index = count - 1; index >= 0 && table !== undefined; index -= 1) {
        const start = starts[index]!;
        if (host.length - start + (followsWww(host, start) ? WWW.length : 0) < covered) break;
        if (table.find(host, start, hashes[index]!) !== 0) return settings.id;
      }
    return undefined;
  }

  /**
   * Returns the result of an entry that may block a guarded host as a whole. If it does, a BLOCKED result becomes
   * UNKNOWN. For the parameters, see `find`.
   */
  overrule(result: SourceResult, host: string, hashes: SuffixHashes, covered: number): SourceResult {
    const guardedBy = result.status === 'BLOCKED' ? this.find(host, hashes, covered) : undefined;
    return guardedBy === undefined ? result : { ...result, status: 'UNKNOWN', reason: 'not-found', guardedBy };
  }

  /** Also returns a guard that contains a host which inherits the status of this host. */
  guardOf(host: string): GuardOfHost | undefined {
    if (this.guards.length === 0) return undefined;
    this.hashes.read(host, true);
    const own = this.find(host, this.hashes, host.length);
    if (own !== undefined) return { guard: own, isAbove: false };
    const below = this.guards.find(({ above }) => (above?.find(host, 0, hashOfText(host)) ?? 0) !== 0);
    return below && { guard: below.settings.id, isAbove: true };
  }

  /**
   * Finds the entries of a list that block a guarded host as a whole, or a page below one without the parameters that
   * name it. Lets other work run in between.
   * @returns undefined if no guard is configured
   */
  async overruledEntriesOf(list: HostTable, suffixes: HostingSuffixes): Promise<OverruledEntries | undefined> {
    if (this.guards.length === 0) return undefined;
    const cooperativeYield = new CooperativeYield();
    const found = new Set<string>();
    const examples: OverruledEntries['examples'][number][] = [];
    const hashes = new SuffixHashes();
    let read = 0;
    const add = (key: string, entry: string, guard: string): void => {
      if (found.has(key)) return;
      found.add(key);
      if (examples.length < MAX_EXAMPLES) examples.push({ entry, guard });
    };
    for (const { settings, table } of this.guards)
      for (const [texts, start, end] of table?.entries() ?? []) {
        const host = WWW + Buffer.from(texts.buffer, texts.byteOffset + start, end - start).toString('latin1');
        hashes.read(host, true);
        for (let index = 0; index < hashes.count; index += 1) {
          const at = hashes.starts[index]!;
          const flags = list.find(host, at, hashes.hashes[index]!);
          if (flags !== 0 && blocksGuarded(host, at, flags, suffixes))
            add(host.slice(at), list.originalSpelling(host, at, hashes.hashes[index]!), settings.id);
        }
        read += 1;
        if (read % ENTRIES_PER_CHECK === 0 && cooperativeYield.isDue()) await cooperativeYield.yieldNow();
      }
    for (const [texts, start, end] of list.entries()) {
      read += 1;
      if (read % ENTRIES_PER_CHECK === 0 && cooperativeYield.isDue()) await cooperativeYield.yieldNow();
      const isExact = texts[start] === EXACTLY.charCodeAt(0);
      if (!isExact && (texts[start - 1]! & ANY_QUERY) === 0) continue;
      const key = Buffer.from(texts.buffer, texts.byteOffset + start, end - start).toString('latin1');
      const host = isExact ? key.slice(EXACTLY.length) : key.slice(key.indexOf(':') + 1, key.indexOf('/'));
      hashes.read(host, true);
      const guard = this.find(host, hashes, isExact ? host.length : suffixes.boundaryOf(host).suffix.length + 1);
      const { flags, spelling } = list.entryOf(key) ?? { flags: 0, spelling: '' };
      const isWhole = (isExact || (flags & ANY_QUERY) !== 0) && flagsForSubdomains(flags) === BLOCKED;
      if (guard !== undefined && isWhole) add(key, spelling, guard);
    }
    return { count: found.size, examples };
  }
}

/**
 * Whether an entry blocks a guarded host, or `www.` of this host, as a whole.
 * @param host `www.` and the guarded host
 * @param start index in `host` where the entry begins
 */
const blocksGuarded = (host: string, start: number, flags: number, suffixes: HostingSuffixes): boolean => {
  const isExact = start <= WWW.length && flagsForHost(flags) === BLOCKED;
  // An entry for the subdomains of the host itself still decides about them.
  if (isExact || start <= WWW.length) return isExact;
  // An entry for a hosting suffix does not apply to the names under it.
  return flagsForSubdomains(flags) === BLOCKED && host.length - start > suffixes.boundaryOf(host).suffix.length;
};
