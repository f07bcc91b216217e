import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { limit } from '../../limits.js';
import { SharedResults, singleFlight } from '../../flow/shared-work.js';
import type { Clock } from '../../flow/time.js';
import { MS_PER_SECOND } from '../../events/instant.js';
import type { RowOf } from '../../postgres/statement.js';
import type { NameReads } from '../names/name-reads.js';
import { NAMES_AFTER, NAMES_OF } from '../names/name-statements.js';
import { VERSIONS_SINCE } from '../list-versions.js';
import { type CurrentList, namedBy, type ServedList } from '../served-list.js';
import { HASH_BYTES, indexOfHash, splitHashes } from '../sorted-hashes.js';

/** The names of MetaMask's lists in its differences. */
const BLOCKLIST = 'eth_phishing_detect_config.blocklist';
const ALLOWLIST = 'eth_phishing_detect_config.allowlist';
/** A host that no list can have. */
const NEVER_LISTED = 'nothing.invalid';
const NAMES_PER_PAGE = 5_000;
/** Clients read the differences since a whole list, so it need not be the newest. */
const WHOLE_EVERY_MS = limit('interval of whole lists for MetaMask', 300_000, 'ms', 'list', 'the earlier one is sent');
/** A client that is further behind asks again, from the last difference on. One version is sent whole. */
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
  /** Seconds since 1970. No two versions of a list have the same second. */
  readonly timestamp: number;
  readonly targetList: string;
  readonly isRemoval?: true;
}

const secondOf = (ms: number): number => Math.floor(ms / MS_PER_SECOND);

/** Returns the host of `HOST/`; undefined of a page, which these lists do not have. */
const blockedHost = (expression: string): string | undefined =>
  expression.indexOf('/') === expression.length - 1 ? expression.slice(0, -1) : undefined;

/** The elements of a JSON array, collected in few buffers. */
class JsonList {
  private readonly parts: Buffer[] = [];

  add(elements: readonly unknown[]): void {
    if (elements.length === 0) return;
    const text = JSON.stringify(elements).slice(1, -1);
    this.parts.push(Buffer.from(this.parts.length === 0 ? text : `,${text}`));
  }

  get buffers(): readonly Buffer[] {
    return this.parts;
  }
}

/** Returns a list as its controller knows it, compressed. */
const wholeOf = async (names: NameReads, list: CurrentList, ask: CurrentList): Promise<Buffer> => {
  const [blocked, allowed] = [new JsonList(), new JsonList()];
  const hosts = new Set<string>();
  let after: { hash: Buffer; isAsk: boolean } = { hash: Buffer.alloc(0), isAsk: true };
  for (;;) {
    const rows = await names.run(NAMES_AFTER, { ...after, limit: NAMES_PER_PAGE }, { isShared: true });
    const listed = rows.filter(({ hash, isAsk }) => indexOfHash((isAsk ? ask : list).version.hashes, hash) !== -1);
    blocked.add(
      listed.flatMap(({ expression, exceptionHost }) => (exceptionHost === null && blockedHost(expression)) || []),
    );
    const found = new Set(listed.flatMap(({ exceptionHost }) => exceptionHost ?? []));
    const fresh = [...found].filter((host) => !hosts.has(host));
    for (const host of fresh) hosts.add(host);
    allowed.add(fresh);
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
  /** The whole list of each name. */
  private readonly wholes = new Map<string, () => Promise<Buffer>>();
  private readonly differences = new SharedResults<Buffer>(MAX_BYTES, ({ length }) => length);

  constructor(
    private readonly names: NameReads,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the whole list as JSON, compressed with gzip.
   * @param ask the list of what only the service can answer
   * @throws NotBuilt until the names of the list are stored
   */
  async whole(list: ServedList, ask: ServedList): Promise<Buffer> {
    // Also while an earlier whole list is known.
    for (const each of [list, ask]) namedBy(each);
    const read = async (): Promise<Buffer> => wholeOf(this.names, namedBy(list), namedBy(ask));
    const shared = this.wholes.get(list.name) ?? singleFlight(read, WHOLE_EVERY_MS, this.clock);
    this.wholes.set(list.name, shared);
    return shared();
  }

  /**
   * Returns what has changed after a second, oldest first, as JSON, compressed with gzip.
   * @throws NotBuilt until the names of the list are stored
   */
  async since(list: ServedList, ask: ServedList, second: number): Promise<Buffer> {
    const [ofList, ofAsk] = [namedBy(list), namedBy(ask)];
    const isNewest = second >= secondOf(Math.max(ofList.head.cutAt, ofAsk.head.cutAt));
    const versions = isNewest
      ? []
      : await this.names.run(VERSIONS_SINCE, {
          names: [list.name, ask.name],
          from: (second + 1) * MS_PER_SECOND,
          maxBytes: MAX_HASHES * HASH_BYTES,
        });
    // All seconds before the same version have the same answer.
    const key = `${list.name} ${ofList.version.token} ${ofAsk.version.token} ${versions[0]?.cutAt ?? ''}`;
    return this.differences.get(key, () => differencesOf(this.names, versions, ask.name));
  }
}

type Version = RowOf<typeof VERSIONS_SINCE>;

/** Some hashes that a version changed. */
interface Part {
  readonly isAsk: boolean;
  readonly timestamp: number;
  readonly isRemoval: boolean;
  readonly hashes: Buffer;
}

const PART_BYTES = NAMES_PER_PAGE * HASH_BYTES;

const partsOf = ({ name, cutAt, removed, added }: Version, askName: string): Part[] =>
  [removed, added].flatMap((hashes, n) =>
    Array.from({ length: Math.ceil(hashes.length / PART_BYTES) }, (_, at) => ({
      isAsk: name === askName,
      timestamp: secondOf(cutAt),
      isRemoval: n === 0,
      hashes: hashes.subarray(at * PART_BYTES, (at + 1) * PART_BYTES),
    })),
  );

/** Puts parts together whose names are read at once, in order. */
const batchesOf = (parts: readonly Part[]): Part[][] => {
  const batches: Part[][] = [];
  let bytes = PART_BYTES;
  for (const part of parts) {
    bytes += part.hashes.length;
    if (bytes > PART_BYTES) {
      batches.push([]);
      bytes = part.hashes.length;
    }
    batches.at(-1)!.push(part);
  }
  return batches;
};

const keyOf = (hash: Buffer): string => hash.toString('latin1');

type Name = RowOf<typeof NAMES_OF>;

const readNames = async (names: NameReads, parts: readonly Part[], isAsk: boolean): Promise<Map<string, Name>> => {
  const hashes = Buffer.concat(parts.filter((part) => part.isAsk === isAsk).map((part) => part.hashes));
  const rows = hashes.length === 0 ? [] : await names.run(NAMES_OF, { hashes, isAsk });
  return new Map(rows.map((row) => [keyOf(row.hash), row]));
};

const differencesOf = async (names: NameReads, versions: readonly Version[], askName: string): Promise<Buffer> => {
  const json = new JsonList();
  let newest = 0;
  for (const batch of batchesOf(versions.flatMap((version) => partsOf(version, askName)))) {
    const [ofLists, ofAsk] = [await readNames(names, batch, false), await readNames(names, batch, true)];
    const found = batch.flatMap((part) =>
      splitHashes(part.hashes).flatMap((hash) => {
        const name = (part.isAsk ? ofAsk : ofLists).get(keyOf(hash));
        return (name && differenceOf(name, part)) ?? [];
      }),
    );
    json.add(found);
    newest = found.at(-1)?.timestamp ?? newest;
  }
  const last = versions.at(-1);
  // A client asks for what is newer than the newest difference that it has seen, and would get these versions for ever.
  if (last !== undefined && newest < secondOf(last.cutAt))
    json.add([{ url: NEVER_LISTED, timestamp: secondOf(last.cutAt), targetList: BLOCKLIST, isRemoval: true }]);
  return compress(Buffer.concat([Buffer.from('{"data":['), ...json.buffers, Buffer.from(']}')]));
};

const differenceOf = ({ expression, exceptionHost }: Name, { timestamp, isRemoval }: Part): Difference | undefined => {
  // Another exception of the same host may remain, so an allowed host stays until the next whole list.
  if (exceptionHost !== null) return isRemoval ? undefined : { url: exceptionHost, timestamp, targetList: ALLOWLIST };
  const url = blockedHost(expression);
  if (url === undefined) return undefined;
  return { url, timestamp, targetList: BLOCKLIST, ...(isRemoval && { isRemoval }) };
};
