import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { limit } from '../../limits.js';
import { type Clock } from '../../flow/time.js';
import { NAMES_AFTER, NAMES_OF } from '../names/list-names.js';
import { VERSIONS_SINCE } from '../list-versions.js';
import { type CurrentList, namedBy, type ServedList } from '../served-list.js';
import { HASH_BYTES, lowerBound, wordsOf } from '../sorted-hashes.js';

/** The names of MetaMask's lists in its differences. */
const TARGET = 'eth_phishing_detect_config';
const NAMES_PER_PAGE = 5_000;
/** Clients read the differences since a whole list, so it need not be the newest. */
const WHOLE_EVERY_MS = limit('interval of whole lists for MetaMask', 300_000, 'ms', 'list', 'the earlier one is sent');
/** A client that is further behind asks again with the second of the last difference. */
const MAX_HASHES = limit(
  'changed hashes in a response for MetaMask',
  20_000,
  'hashes',
  'request',
  'the oldest are sent',
);
const MAX_BYTES = limit(
  'differences for MetaMask in memory',
  2 * 1024 * 1024,
  'bytes',
  'process',
  'they are made again',
);

const compress = promisify(gzip);

/** A change of a list, as MetaMask's controller reads it. */
interface Difference {
  readonly url: string;
  /** Seconds since 1970. No two versions have the same second. */
  readonly timestamp: number;
  readonly targetList: string;
  readonly isRemoval?: true;
}

const secondOf = (ms: number): number => Math.floor(ms / 1_000);

/** Returns the host of `HOST/`; undefined of a page, which these lists do not have. */
const blockedHost = (expression: string): string | undefined =>
  expression.indexOf('/') === expression.length - 1 ? expression.slice(0, -1) : undefined;

/** Returns the host of an exception: without `!`, `=` or `*`, and without what follows the host. */
const exceptionHost = (expression: string): string => expression.replace(/^[!=*]+/, '').split('/', 1)[0]!;

const has = ({ version }: CurrentList, hash: Buffer): boolean => {
  const words = wordsOf(version.hashes);
  const at = lowerBound(words, 0, wordsOf(hash), 0);
  return at < version.hashes.length && hash.equals(version.hashes.subarray(at, at + HASH_BYTES));
};

/** JSON texts, collected in few buffers. */
class JsonStrings {
  private readonly parts: Buffer[] = [];

  add(texts: readonly string[]): void {
    if (texts.length === 0) return;
    const text = texts.map((each) => JSON.stringify(each)).join();
    this.parts.push(Buffer.from(this.parts.length === 0 ? text : `,${text}`));
  }

  get buffers(): readonly Buffer[] {
    return this.parts;
  }
}

/** Returns a list as its controller knows it, compressed. */
const wholeOf = async (pool: Pool, list: CurrentList, ask: CurrentList): Promise<Buffer> => {
  const [blocked, allowed] = [new JsonStrings(), new JsonStrings()];
  const hosts = new Set<string>();
  let after: { hash: Buffer; isAsk: boolean } = { hash: Buffer.alloc(0), isAsk: true };
  for (;;) {
    const rows = await NAMES_AFTER.run(pool, { ...after, limit: NAMES_PER_PAGE });
    const listed = rows.filter(({ hash, isAsk }) => has(isAsk ? ask : list, hash));
    blocked.add(listed.flatMap(({ expression, isException }) => (isException ? [] : (blockedHost(expression) ?? []))));
    const added = listed.flatMap(({ expression, isException }) => (isException ? [exceptionHost(expression)] : []));
    const fresh = new Set(added.filter((host) => !hosts.has(host)));
    for (const host of fresh) hosts.add(host);
    allowed.add([...fresh]);
    if (rows.length < NAMES_PER_PAGE) break;
    after = rows.at(-1)!;
  }
  const lastUpdated = secondOf(Math.min(list.head.cutAt, ask.head.cutAt));
  const text = Buffer.concat([
    Buffer.from(`{"data":{"version":1,"tolerance":0,"lastUpdated":${lastUpdated},"fuzzylist":[],"allowlist":[`),
    ...allowed.buffers,
    Buffer.from('],"blocklist":['),
    ...blocked.buffers,
    Buffer.from(']}}'),
  ]);
  return compress(text);
};

/**
 * The local lists as `@metamask/phishing-controller` reads them. It knows hosts only, and an allowed host is allowed with
 * everything below: what is blocked below such a host is missing, and nothing is blocked that the check does not block.
 */
export class MetaMaskLists {
  private readonly wholes = new Map<string, { readonly at: number; readonly body: Promise<Buffer> }>();
  private readonly differences = new LRUCache<string, Buffer>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ length }) => length,
  });

  private readonly making = new Map<string, Promise<Buffer>>();

  constructor(
    private readonly pool: Pool,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the whole list as JSON, compressed with gzip.
   * @param ask the list of what only the service can answer
   * @throws NotBuilt until the names of the list are stored
   */
  async whole(list: ServedList, ask: ServedList): Promise<Buffer> {
    const [ofList, ofAsk] = [namedBy(list), namedBy(ask)];
    const made = this.wholes.get(list.name);
    if (made !== undefined && this.clock.now() < made.at + WHOLE_EVERY_MS) return made.body;
    const body = wholeOf(this.pool, ofList, ofAsk);
    this.wholes.set(list.name, { at: this.clock.now(), body });
    body.catch(() => this.wholes.delete(list.name));
    return body;
  }

  /**
   * Returns what has changed after a second, oldest first, as JSON.
   * @throws NotBuilt until the names of the list are stored
   */
  async since(list: ServedList, ask: ServedList, second: number): Promise<Buffer> {
    const [ofList, ofAsk] = [namedBy(list), namedBy(ask)];
    const isNewest = second >= secondOf(Math.max(ofList.head.cutAt, ofAsk.head.cutAt));
    const key = `${list.name} ${ofList.version.token} ${ofAsk.version.token} ${isNewest ? '' : second}`;
    const made = this.differences.get(key) ?? this.making.get(key);
    if (made !== undefined) return made;
    const making = (isNewest ? Promise.resolve([]) : this.differencesSince(ofList, ofAsk, second)).then((data) =>
      Buffer.from(JSON.stringify({ data })),
    );
    this.making.set(key, making);
    try {
      const body = await making;
      this.differences.set(key, body);
      return body;
    } finally {
      this.making.delete(key);
    }
  }

  private async differencesSince(list: CurrentList, ask: CurrentList, second: number): Promise<Difference[]> {
    const versions = await VERSIONS_SINCE.run(this.pool, {
      names: [list.name, ask.name],
      from: (second + 1) * 1_000,
      maxBytes: MAX_HASHES * HASH_BYTES,
    });
    // One query for all versions, which may be a thousand.
    const found = new Map<boolean, ReadonlyMap<string, Name>>();
    for (const isAsk of [false, true]) {
      const ofHalf = versions.filter(({ name }) => (name === ask.name) === isAsk);
      const hashes = Buffer.concat(ofHalf.flatMap(({ removed, added }) => [removed, added]));
      const rows = hashes.length === 0 ? [] : await NAMES_OF.run(this.pool, { hashes, isAsk });
      found.set(isAsk, new Map(rows.map((row) => [row.hash.toString('latin1'), row])));
    }
    return versions.flatMap(({ name, cutAt, removed, added }) => {
      const names = found.get(name === ask.name)!;
      const of = (hashes: Buffer, isRemoval: boolean): Difference[] =>
        textsOf(hashes).flatMap((hash) => {
          const row = names.get(hash);
          return (row && differenceOf(row, secondOf(cutAt), isRemoval)) ?? [];
        });
      return [...of(removed, true), ...of(added, false)];
    });
  }
}

/** Returns the hashes as keys of a map. */
const textsOf = (hashes: Buffer): string[] =>
  Array.from({ length: hashes.length / HASH_BYTES }, (_, n) =>
    hashes.toString('latin1', n * HASH_BYTES, (n + 1) * HASH_BYTES),
  );

interface Name {
  readonly expression: string;
  readonly isException: boolean;
}

const differenceOf = ({ expression, isException }: Name, timestamp: number, isRemoval: boolean) => {
  if (isException) {
    // Another exception of the same host may remain, so an allowed host stays until the next whole list.
    if (isRemoval) return undefined;
    return { url: exceptionHost(expression), timestamp, targetList: `${TARGET}.allowlist` };
  }
  const url = blockedHost(expression);
  if (url === undefined) return undefined;
  return { url, timestamp, targetList: `${TARGET}.blocklist`, ...(isRemoval && { isRemoval }) };
};
