import { isIP } from 'node:net';
import { CooperativeYield } from '../../flow/time.js';
import {
  ALLOWED,
  ANY_QUERY,
  BLOCKED,
  EXACTLY,
  HostTableBuilder,
  type Rank,
  SUBDOMAINS_SHIFT,
  withRank,
} from './host-table.js';
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

/** An exemption of the hosts whose names a pattern matches. */
export interface Exemption {
  /** The pattern as the list spells it. */
  readonly pattern: string;
  /** What the names end in. */
  readonly end: string;
  readonly form: RegExp;
  readonly flags: number;
}
/** Maximum number of exemptions with a pattern, because each of them is compared with each host. */
const MAX_EXEMPTIONS = 1_000;
/** A name with one or two `*`. */
const PATTERN = /^[a-z0-9._-]*\*[a-z0-9._-]*(?:\*[a-z0-9._-]*)?$/;

/** Collects the entries of a list, and counts rejected entries by reason. */
export class Collector {
  readonly builder: HostTableBuilder;
  /** Of a guard: the domains above its hosts. */
  readonly above = new HostTableBuilder();
  readonly cooperativeYield = new CooperativeYield();
  /** Number of entries for a page, a profile or IPFS content. */
  pages = 0;
  /** Number of rules for exactly one host. */
  exact = 0;
  readonly exemptions: Exemption[] = [];
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
  take(entry: unknown, flags: number, kinds = this.kinds, rank: Rank = 0, isExact = false): Rejection | undefined {
    if (typeof entry !== 'string') return this.reject('unreadable', JSON.stringify(entry) ?? typeof entry);
    const text = entry.trim();
    const parsed = this.isGuard ? readGuardedHost(text, this.suffixes) : readEntry(text, this.suffixes, kinds);
    if (typeof parsed === 'string') return this.reject(parsed, text);
    if (isPageKey(parsed.key)) this.pages += 1;
    const prefix = prefixOf(parsed.key);
    if (prefix !== undefined) this.prefixes.add(prefix);
    if (this.isGuard) this.addAbove(parsed.key);
    if (isExact) this.exact += 1;
    this.builder.add(
      isExact ? EXACTLY + parsed.key : parsed.key,
      withRank(parsed.subdomainsOnly ? flags << SUBDOMAINS_SHIFT : flags, rank) |
        (parsed.anyQuery === true ? ANY_QUERY : 0),
      this.isGuard ? parsed.key : text,
    );
    return undefined;
  }

  /** Adds an exemption of the hosts whose names a pattern with `*` matches. @returns the reason if it is rejected */
  exempt(pattern: string, rank: Rank, isExact: boolean): Rejection | undefined {
    const name = pattern.toLowerCase().replace(/\*+/g, '*');
    const end = name.slice(name.lastIndexOf('*') + 1);
    const parent = readEntry(end.slice(end.indexOf('.') + 1), this.suffixes, this.kinds);
    if (typeof parent === 'string') return this.reject(parent, pattern);
    if (!PATTERN.test(name)) return this.reject('unreadable', pattern);
    if (this.exemptions.length === MAX_EXEMPTIONS) return this.reject('unsupported', pattern);
    const form = name.replaceAll('.', String.raw`\.`).replaceAll('*', '.*');
    const flags = withRank(ALLOWED, rank);
    this.exemptions.push({ pattern, end, form: new RegExp(`${isExact ? '^' : String.raw`(?:^|\.)`}${form}$`), flags });
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
