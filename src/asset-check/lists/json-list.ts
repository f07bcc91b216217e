import { distance } from 'fastest-levenshtein';
import { JSONParser, TokenType } from '@streamparser/json';
import { parseLocation } from '../../assets/location.js';
import { type Body, type Collector, InvalidList } from './collector.js';
import { ALLOWED, BLOCKED } from './host-table.js';
import type { EntryKinds } from './list-entry.js';
import { limit } from '../../limits.js';

/** Removes the top-level domain from a host. */
const withoutTopLevelDomain = (host: string): string => host.slice(0, Math.max(0, host.lastIndexOf('.')));

/** The set of characters in a string, as a bitmap of their codes modulo 32. */
const lettersOf = (text: string): number => {
  let letters = 0;
  for (let index = 0; index < text.length; index += 1) letters |= 1 << text.charCodeAt(index);
  return letters;
};

/** Counts the set bits. */
const countOf = (bits: number): number => {
  let v = bits - ((bits >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
};

/**
 * Hosts that phishers imitate. A host is an imitation if it differs from one of these hosts by at most `tolerance`
 * edits. The comparison ignores the top-level domain and a leading `www.`, as eth-phishing-detect does.
 */
export class FuzzyList {
  private readonly targets: readonly { readonly host: string; readonly name: string; readonly letters: number }[];
  private readonly shortest: number;
  private readonly longest: number;

  constructor(
    hosts: readonly string[],
    readonly tolerance: number,
  ) {
    this.targets = hosts.map((host) => ({
      host,
      name: withoutTopLevelDomain(host),
      letters: lettersOf(withoutTopLevelDomain(host)),
    }));
    const lengths = this.targets.map(({ name }) => name.length);
    this.shortest = Math.min(...lengths) - tolerance;
    this.longest = Math.max(...lengths) + tolerance;
  }

  /** The names that phishers imitate, each without its top-level domain. */
  get names(): readonly string[] {
    return this.targets.map(({ name }) => name);
  }

  /** Returns the host that `host` imitates, or undefined. */
  find(host: string): string | undefined {
    if (this.tolerance <= 0) return undefined;
    const name = withoutTopLevelDomain(host).replace('www.', '');
    if (name.length < this.shortest || name.length > this.longest) return undefined;
    const letters = lettersOf(name);
    for (const target of this.targets) {
      // One edit changes the length by at most one, and adds and removes at most one distinct character.
      if (Math.abs(target.name.length - name.length) > this.tolerance) continue;
      if (countOf(letters & ~target.letters) > this.tolerance) continue;
      if (countOf(target.letters & ~letters) > this.tolerance) continue;
      if (distance(name, target.name) <= this.tolerance) return target.host;
    }
    return undefined;
  }
}

const SLICE = 16_384;
/** Each open level takes some 300 bytes. */
const MAX_LEVELS = limit('list in JSON', 32, 'levels', 'list', 'the last copy stays');
/** The parser keeps an entry until the entry ends. What is not an entry, such as a name of a field, counts like one. */
const MAX_ENTRY_BYTES = limit('entry of a list in JSON', 1_048_576, 'bytes', 'list', 'the last copy stays');
const MAX_FUZZY = 1_000;
/** Maximum `tolerance`. With a higher tolerance, all short names would count as imitations of each other. */
const MAX_TOLERANCE = 5;
const DEFAULT_TOLERANCE = 3;

const hasByteOrderMark = (chunk: Uint8Array): boolean => chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;

type OnValue = (value: unknown, path: readonly (string | number)[], parent: unknown) => void;

/**
 * Parses JSON one slice at a time. Calls `onValue` for values up to two levels deep.
 * @throws InvalidList if the JSON is invalid, has too many levels, or has an entry that is too long
 */
const parseJson = async (body: Body, root: '[' | '{', collector: Collector, onValue: OnValue): Promise<void> => {
  const parser = new JSONParser({
    paths: root === '[' ? ['$.*'] : ['$.*', '$.*.*'],
    keepStack: false,
    stringBufferSize: SLICE,
  });
  let levels = 0;
  parser.onToken = ({ token }) => {
    if (token === TokenType.LEFT_BRACKET || token === TokenType.LEFT_BRACE) levels += 1;
    else if (token === TokenType.RIGHT_BRACKET || token === TokenType.RIGHT_BRACE) levels -= 1;
    if (levels > MAX_LEVELS) throw new InvalidList(`The list has more than ${MAX_LEVELS} levels`);
  };
  /** The bytes of the slices since one in which a value ended, so never more than the bytes of the value. */
  let unended = 0;
  parser.onValue = ({ value, key, parent, stack }) => {
    unended = 0;
    onValue(value, [...stack.slice(1).map((level) => level.key!), key!], parent);
    // Frees the value, which the parser would otherwise keep until the end of the array or object.
    if (Array.isArray(parent)) (parent as unknown[])[key as number] = undefined;
    else if (parent !== undefined) delete (parent as Record<string, unknown>)[key as string];
  };
  try {
    let isFirst = true;
    for await (const chunk of body.chunks) {
      const begin = isFirst && hasByteOrderMark(chunk) ? 3 : 0;
      if (isFirst && !chunk.toString('utf8', begin, 64).trimStart().startsWith(root))
        throw new InvalidList(`The list must be JSON that begins with ${root}`);
      isFirst = false;
      for (let start = begin; start < chunk.length; start += SLICE) {
        const slice = chunk.subarray(start, start + SLICE);
        unended += slice.length;
        parser.write(slice);
        if (unended > MAX_ENTRY_BYTES)
          throw new InvalidList(`The list has an entry of more than ${MAX_ENTRY_BYTES} bytes`);
        if (collector.cooperativeYield.isDue()) await collector.cooperativeYield.yieldNow();
      }
    }
  } catch (error) {
    if (error instanceof InvalidList || (error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new InvalidList(`The list is not valid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (!parser.isEnded) throw new InvalidList('The list is not valid JSON: unexpected end');
};

/** Reads an array of entries. */
export const readArray = (body: Body, collector: Collector, flags: number): Promise<void> =>
  parseJson(body, '[', collector, (value) => collector.take(value, flags));

/**
 * Reads an object whose fields are arrays of entries.
 * @param sections the flags of each array by its name
 * @param oneOf at least one of these arrays must exist
 * @param onOther called for values of other fields
 * @throws InvalidList if the JSON is invalid, or all arrays of `oneOf` are missing
 */
export const readObjectOfLists = async (
  body: Body,
  collector: Collector,
  sections: Readonly<Record<string, number>>,
  oneOf: readonly string[],
  onOther: OnValue = () => undefined,
  /** Other arrays that `onOther` reads. */
  read: readonly string[] = [],
  /** The kinds of assets that ALLOWED entries may name. Default: the kinds that all other entries may name. */
  allowed?: EntryKinds,
): Promise<void> => {
  const seen = new Set<string>();
  await parseJson(body, '{', collector, (value, path, parent) => {
    const [name] = path as [string];
    const flags = Object.hasOwn(sections, name) ? sections[name] : undefined;
    if (flags === undefined && path.length === 1 && Array.isArray(value) && !read.includes(name))
      return void collector.reject('unsupported', `"${name}" with ${value.length} entries`);
    if (flags === undefined) return onOther(value, path, parent);
    if (path.length === 1) {
      if (!Array.isArray(value)) throw new InvalidList(`"${name}" must be an array`);
      seen.add(name);
    } else if (Array.isArray(parent)) collector.take(value, flags, flags === ALLOWED ? allowed : undefined);
  });
  if (!oneOf.some((name) => seen.has(name)))
    throw new InvalidList(`The list must have the array "${oneOf.join('" or "')}"`);
};

/** Reads a list of MetaMask's detector. @returns the hosts that phishers imitate, if the list names any */
export const readMetamask = async (body: Body, collector: Collector): Promise<FuzzyList | undefined> => {
  const hosts: string[] = [];
  let tolerance = DEFAULT_TOLERANCE;
  // MetaMask compares allowed entries with hosts only.
  const hostsOnly = { pages: false, accounts: false };
  const sections = {
    blacklist: BLOCKED,
    blocklist: BLOCKED,
    blocklistPaths: BLOCKED,
    whitelist: ALLOWED,
    allowlist: ALLOWED,
  };
  const onOther: OnValue = (value, path, parent) => {
    if (path[0] === 'tolerance' && path.length === 1) {
      if (typeof value !== 'number' || !(value >= 0 && value <= MAX_TOLERANCE))
        throw new InvalidList(`"tolerance" must be a number from 0 to ${MAX_TOLERANCE}`);
      tolerance = value;
    }
    if (path[0] !== 'fuzzylist') return;
    if (path.length === 1 && !Array.isArray(value)) throw new InvalidList('"fuzzylist" must be an array');
    if (path.length !== 2 || !Array.isArray(parent)) return;
    const location = typeof value === 'string' ? parseLocation(value.trim()) : undefined;
    if (!location?.isName || location.rest !== '' || !location.host.includes('.'))
      collector.reject('unreadable', String(value));
    else if (hosts.push(location.host) > MAX_FUZZY)
      throw new InvalidList(`"fuzzylist" has more than ${MAX_FUZZY} hosts`);
  };
  await readObjectOfLists(body, collector, sections, ['blacklist', 'blocklist'], onOther, ['fuzzylist'], hostsOnly);
  return hosts.length > 0 && tolerance > 0 ? new FuzzyList(hosts, tolerance) : undefined;
};
