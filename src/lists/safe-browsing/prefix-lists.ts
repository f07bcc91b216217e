import { createHash } from 'node:crypto';
import { SharedResults } from '../../flow/shared-work.js';
import { limit } from '../../limits.js';
import type { ListName } from '../built-lists.js';
import { encodeRice, type RiceCoded, wordsOfIndices } from '../rice.js';
import { type CurrentList, readToken, servedBy, type ServedList } from '../served-list.js';
import { applyChange, countOf, HASH_BYTES, wordsOf } from '../sorted-hashes.js';
import type { HashList } from './messages.js';

/**
 * The lists of prefixes, and the list whose hashes begin with them. Firefox (ESR 153.8) asks for lists of Google by names
 * that no setting changes: `se-4b` is that of social engineering.
 */
const PREFIX_LISTS: Readonly<Record<string, ListName>> = {
  'all-4b': 'all-8b',
  'own-4b': 'own-8b',
  'se-4b': 'all-8b',
};

/** How long a client should wait before it asks again, and may keep an answer about full hashes. */
export const WAIT_SECONDS = 300;
const MAX_BYTES = limit('prefixes of lists in memory', 4 * 1024 * 1024, 'bytes', 'process', 'they are made again');

/** Returns the first four bytes of each hash of a sorted list, each once, as numbers in ascending order. */
const prefixesOf = (hashes: Uint8Array): Uint32Array => {
  const words = wordsOf(hashes);
  const prefixes = new Uint32Array(countOf(hashes));
  let count = 0;
  for (let at = 0; at < hashes.length; at += HASH_BYTES) {
    const prefix = words.getUint32(at);
    if (count === 0 || prefixes[count - 1] !== prefix) prefixes[count++] = prefix;
  }
  return prefixes.subarray(0, count);
};

const checksumOf = (prefixes: Uint32Array): Buffer => {
  const bytes = Buffer.from(Uint32Array.from(prefixes).buffer);
  return createHash('sha256').update(bytes.swap32()).digest();
};

/** Returns the indices of the numbers that only `before` has, and the numbers that only `after` has. */
const differences = (before: Uint32Array, after: Uint32Array): { removed: Uint32Array; added: Uint32Array } => {
  const [removed, added] = [new Uint32Array(before.length), new Uint32Array(after.length)];
  let [i, j, ofRemoved, ofAdded] = [0, 0, 0, 0];
  while (i < before.length || j < after.length) {
    const [one, other] = [before[i] ?? Infinity, after[j] ?? Infinity];
    if (one < other) removed[ofRemoved++] = i;
    if (one > other) added[ofAdded++] = other;
    if (one <= other) i += 1;
    if (one >= other) j += 1;
  }
  return { removed: removed.subarray(0, ofRemoved), added: added.subarray(0, ofAdded) };
};

const riceOf = async (numbers: Uint32Array) => {
  const { firstValue, ...rest }: RiceCoded = await encodeRice(wordsOfIndices(numbers), 32);
  return { ...rest, firstValue: Number(firstValue) };
};

/** What every response says. */
const ALWAYS = {
  minimumWaitDuration: { seconds: WAIT_SECONDS },
  metadata: { threatTypes: ['SOCIAL_ENGINEERING'], hashLength: 'FOUR_BYTES' },
} as const;

/** The prefixes of a version, which all its updates lead to. */
interface Prefixes {
  readonly prefixes: Uint32Array;
  readonly sha256Checksum: Buffer;
}

/** The lists of Safe Browsing, made of the hashes of local lists. */
export class PrefixLists {
  private readonly made = new SharedResults<HashList>(
    MAX_BYTES,
    ({ additionsFourBytes: added, compressedRemovals: removed }) =>
      1_000 + (added?.encodedData.length ?? 0) + (removed?.encodedData.length ?? 0),
  );
  private readonly prefixes = new WeakMap<Uint8Array, Prefixes>();

  constructor(private readonly lists: readonly ServedList[]) {}

  /**
   * Returns a list, or what has changed in it. A list that does not exist is empty.
   * @param versions what the client has, of any lists
   * @throws NotBuilt until the list has a version
   */
  async read(name: string, versions: readonly string[]): Promise<HashList> {
    const source = Object.hasOwn(PREFIX_LISTS, name) ? PREFIX_LISTS[name] : undefined;
    const list = this.lists.find((each) => each.name === source);
    if (list === undefined) return { name, sha256Checksum: checksumOf(new Uint32Array()), ...ALWAYS };
    const current = servedBy(list);
    const token = versions.find((version) => version.startsWith(`${name} `))?.slice(name.length + 1);
    const mark = token === undefined ? undefined : readToken(token);
    const since = mark !== undefined && list.canUpdate(mark) ? mark : undefined;
    const key = `${name} ${current.version.token} ${since?.number ?? ''}`;
    return this.made.get(key, () =>
      this.make(name, current, since === undefined ? undefined : list.changeSince(since)),
    );
  }

  private async make(
    name: string,
    { version }: CurrentList,
    change: ReturnType<ServedList['changeSince']> | undefined,
  ): Promise<HashList> {
    const { prefixes, sha256Checksum } = this.ofVersion(version.hashes);
    const changed = await change;
    const before =
      changed === undefined
        ? new Uint32Array()
        : prefixesOf(applyChange(version.hashes, { removed: changed.added, added: changed.removed }));
    const { removed, added } = differences(before, prefixes);
    return {
      name,
      version: Buffer.from(`${name} ${version.token}`),
      ...(changed !== undefined && { partialUpdate: true }),
      ...(added.length > 0 && { additionsFourBytes: await riceOf(added) }),
      ...(removed.length > 0 && { compressedRemovals: await riceOf(removed) }),
      sha256Checksum,
      ...ALWAYS,
    };
  }

  private ofVersion(hashes: Uint8Array): Prefixes {
    const known = this.prefixes.get(hashes);
    if (known !== undefined) return known;
    const prefixes = prefixesOf(hashes);
    const made = { prefixes, sha256Checksum: checksumOf(prefixes) };
    this.prefixes.set(hashes, made);
    return made;
  }
}
