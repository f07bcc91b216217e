import { isIP } from 'node:net';
import { CooperativeYield } from '../../flow/time.js';
import { ANY_QUERY, BLOCKED, HostTableBuilder, type Rank, SUBDOMAINS_SHIFT, withRank } from './host-table.js';
import { readGuardedHost } from './guards.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type EntryKinds, isPageKey, prefixOf, readEntry, type RejectedEntries, type Rejection } from './list-entry.js';

/** A list as a stream of bytes. */
export interface Body {
  readonly chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** The size in bytes that the source announced; 0 if unknown. */
  readonly size: number;
}

/** The content is not a usable list; the message has the reason. */
export class InvalidList extends Error {}

const MAX_EXAMPLES = 10;
const MAX_EXAMPLE_LENGTH = 120;

/** Collects the entries of a list, and counts rejected entries by reason. */
export class Collector {
  readonly builder: HostTableBuilder;
  /** Of a guard: the domains above its hosts. */
  readonly above = new HostTableBuilder();
  readonly cooperativeYield = new CooperativeYield();
  /** Number of entries for a page, a profile or IPFS content. */
  pages = 0;
  /** The lengths of the prefixes of ranges of addresses. */
  readonly prefixes = new Set<number>();
  private readonly rejections = new Map<Rejection, { count: number; readonly examples: string[] }>();

  constructor(
    private readonly suffixes: HostingSuffixes,
    private readonly kinds: EntryKinds,
    expectedBytes: number,
    /** Whether the list is a guard. */
    private readonly isGuard = false,
  ) {
    this.builder = new HostTableBuilder(expectedBytes);
  }

  /** Adds an entry. @returns the reason if the entry is rejected */
  take(entry: unknown, flags: number, kinds = this.kinds, rank: Rank = 0): Rejection | undefined {
    if (typeof entry !== 'string') return this.reject('unreadable', entry === null ? 'null' : typeof entry);
    const text = entry.trim();
    const parsed = this.isGuard ? readGuardedHost(text, this.suffixes) : readEntry(text, this.suffixes, kinds);
    if (typeof parsed === 'string') return this.reject(parsed, text);
    if (isPageKey(parsed.key)) this.pages += 1;
    const prefix = prefixOf(parsed.key);
    if (prefix !== undefined) this.prefixes.add(prefix);
    if (this.isGuard) this.addAbove(parsed.key);
    this.builder.add(
      parsed.key,
      withRank(parsed.subdomainsOnly ? flags << SUBDOMAINS_SHIFT : flags, rank) |
        (parsed.anyQuery === true ? ANY_QUERY : 0),
      this.isGuard ? parsed.key : text,
    );
    return undefined;
  }

  /** Adds the domains above a guarded host whose status the host inherits: those below a public or hosting suffix. */
  private addAbove(host: string): void {
    if (isIP(host) !== 0) return;
    const { length } = this.suffixes.boundaryOf(host).suffix;
    for (let at = host.indexOf('.') + 1; at > 0 && host.length - at > length; at = host.indexOf('.', at) + 1)
      this.above.add(host.slice(at), BLOCKED);
  }

  reject(reason: Rejection, text: string): Rejection {
    const { count = 0, examples = [] } = this.rejections.get(reason) ?? {};
    if (examples.length < MAX_EXAMPLES) examples.push(text.slice(0, MAX_EXAMPLE_LENGTH));
    this.rejections.set(reason, { count: count + 1, examples });
    return reason;
  }

  /** The rejected entries by reason, in the order in which the reasons first occurred. */
  get rejected(): RejectedEntries[] {
    return Array.from(this.rejections, ([reason, entries]) => ({ reason, ...entries }));
  }
}
