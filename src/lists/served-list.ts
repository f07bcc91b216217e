import type { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import { limit } from '../limits.js';
import type { RowOf } from '../postgres/statement.js';
import type { ListName } from './built-lists.js';
import { History, markOf, type VersionMark } from './history.js';
import { FIRST_OF_NEWEST, READ_LIST_VERSIONS, READ_LISTS, READ_WHOLE_LIST } from './list-versions.js';
import { applyChange, checksumOf, countOf, mergeChanges, type Change } from './sorted-hashes.js';

type Head = RowOf<typeof READ_LISTS>;

/** Merging more costs more than sending the whole list, which is made once for all clients. */
const MAX_MERGED_HASHES = 20_000;
const MAX_HISTORY_BYTES = limit(
  'changes of a list in memory',
  2 * 1024 * 1024,
  'bytes',
  'list',
  'the whole list is sent',
);
/** How much is read from the database at a time. */
const PAGE = { limit: 5_000, maxBytes: 4 * 1024 * 1024 };

/** One version of a list, complete. */
export interface ListVersion extends VersionMark {
  /** What clients call the version. A version that a restore has replaced has another checksum, and so another name. */
  readonly token: string;
  readonly sha256: Buffer;
  readonly hashes: Uint8Array;
}

/** A list has no version yet, or not what a request needs of it. */
export class NotBuilt extends Unavailable {
  constructor() {
    super('The lists have not been built yet; try again', 2);
  }
}

/** One version of a list as it is served. */
export interface CurrentList {
  readonly name: ListName;
  readonly version: ListVersion;
  readonly head: Head;
}

export const tokenOf = ({ number, mark }: VersionMark): string => `${number}-${mark}`;
const TOKEN = /^(\d{1,15})-([0-9a-f]{16})$/;

/** @returns undefined if the text is not the token of a version */
export const readToken = (text: string): VersionMark | undefined => {
  const [, number, mark] = TOKEN.exec(text) ?? [];
  return number === undefined ? undefined : { number: Number(number), mark: mark! };
};

/** The stored versions do not lead to the checksum that they name. */
export class BrokenVersions extends Error {}

const EMPTY = new Uint8Array();
const INITIAL = { number: 0, hashes: EMPTY };

/** The newest version of one list, and the changes that led to it, as far as they fit into memory. */
export class ServedList {
  private history = new History(MAX_HISTORY_BYTES);
  private newest: ListVersion | undefined;
  private newestHead: Head | undefined;
  private broken = false;

  constructor(readonly name: ListName) {}

  /** What the database says of the newest version. */
  get head(): Head | undefined {
    return this.newestHead;
  }

  /** Whether the stored versions contradict their checksums. */
  get isBroken(): boolean {
    return this.broken;
  }

  get entries(): number | undefined {
    return this.newest === undefined ? undefined : countOf(this.newest.hashes);
  }

  /** Undefined until a version has been built and read. */
  get current(): ListVersion | undefined {
    return this.newest;
  }

  /**
   * Reads the versions up to `head`. If this process has a version that the database does not have, as after a restore,
   * everything is read again. The list changes at once, with its signature.
   * @returns whether the version or its signature is another one now
   * @throws BrokenVersions if the stored versions contradict their checksums: nothing is served then; the database's error
   */
  async follow(pool: Pool, head: Head): Promise<boolean> {
    const [before, headBefore] = [this.newest, this.newestHead];
    try {
      if (head.number === 0) this.reset();
      else if (before === undefined || head.number < before.number) await this.readAll(pool, head);
      else if (head.number > before.number || !head.sha256.equals(before.sha256))
        await this.readAfter(pool, before, head).catch((error: unknown) => {
          if (error instanceof BrokenVersions) return this.readAll(pool, head);
          throw error;
        });
    } catch (error) {
      if (error instanceof BrokenVersions) this.reset();
      this.broken = error instanceof BrokenVersions;
      if (this.broken) this.newestHead = head;
      throw error;
    }
    this.broken = false;
    this.newestHead = head;
    return this.newest !== before || head.cutAt !== headBefore?.cutAt;
  }

  /** The version with what the database says of it; undefined until a version has been built and read. */
  get served(): CurrentList | undefined {
    const { name, newest: version, newestHead: head } = this;
    return version === undefined || head === undefined ? undefined : { name, version, head };
  }

  /**
   * Whether a client with a version can be sent what has changed. Otherwise it needs the whole list: its version is
   * unknown, too old, or further from the newest version than the empty list or than `MAX_MERGED_HASHES`.
   */
  canUpdate(since: VersionMark): boolean {
    const found = this.history.after(since);
    if (found === undefined || this.newest === undefined) return false;
    return found.hashes <= Math.min(countOf(this.newest.hashes), MAX_MERGED_HASHES);
  }

  /** Returns what has changed since a version, of which `canUpdate` is true now. Later versions do not change the result. */
  changeSince(since: VersionMark): Promise<Change> {
    return mergeChanges(this.history.after(since)!.changes);
  }

  private reset(): void {
    this.newest = undefined;
    this.history = new History(MAX_HISTORY_BYTES);
  }

  private async readAll(pool: Pool, head: Head): Promise<void> {
    const { name } = this;
    const [whole] = await READ_WHOLE_LIST.run(pool, { name });
    const [first] = await FIRST_OF_NEWEST.run(pool, { name, maxBytes: MAX_HISTORY_BYTES });
    const base = whole === undefined ? INITIAL : { number: whole.number, hashes: whole.hashes! };
    await this.readAfter(pool, base, head, Math.min(first?.number ?? Infinity, base.number || 1) - 1);
  }

  /**
   * Applies the versions after `base`. The versions from `after` to `base` only enter the history, which is then a new one.
   * @throws BrokenVersions
   */
  private async readAfter(
    pool: Pool,
    base: Pick<ListVersion, 'number' | 'hashes'>,
    head: Head,
    after?: number,
  ): Promise<void> {
    const { name } = this;
    let { hashes } = base;
    let read = after ?? base.number;
    let sha256: Uint8Array = EMPTY;
    const found: (VersionMark & { readonly change: Change })[] = [];
    while (read < head.number) {
      const rows = await READ_LIST_VERSIONS.run(pool, { name, after: read, upTo: head.number, ...PAGE });
      if (rows.length === 0) break;
      for (const { number, removed, added, ...row } of rows) {
        const isFirst = found.length === 0 && number <= base.number;
        if (!isFirst && number !== read + 1) throw new BrokenVersions(`Version ${read + 1} of ${name} is missing`);
        if (number > base.number) hashes = this.apply(hashes, number, { removed, added });
        ({ sha256 } = row);
        read = number;
        found.push({ number, mark: markOf(row.sha256), change: { removed, added } });
      }
    }
    if (!head.sha256.equals(sha256) || !head.sha256.equals(await checksumOf(hashes)))
      throw new BrokenVersions(`The versions of ${name} up to ${read} do not lead to the checksum of ${head.number}`);
    if (after !== undefined) this.history = new History(MAX_HISTORY_BYTES);
    for (const { change, ...version } of found) this.history.add(version, change);
    const version = { number: head.number, mark: markOf(head.sha256) };
    this.newest = { ...version, token: tokenOf(version), sha256: head.sha256, hashes };
    this.newestHead = head;
  }

  private apply(hashes: Uint8Array, number: number, change: Change): Uint8Array {
    try {
      return applyChange(hashes, change);
    } catch (error) {
      throw new BrokenVersions(`Version ${number} of ${this.name}: ${(error as Error).message}`);
    }
  }
}

/** @throws NotBuilt until the list has a version */
export const servedBy = (list: ServedList): CurrentList => {
  const { served } = list;
  if (served === undefined) throw new NotBuilt();
  return served;
};

/** @throws NotBuilt until the list has a version and the names of what is listed are stored */
export const namedBy = (list: ServedList): CurrentList => {
  const current = servedBy(list);
  if (!current.head.hasNames) throw new NotBuilt();
  return current;
};

/**
 * Reads the newest versions of the lists. One list that is broken does not keep the others from being read.
 * @param onChange called for each list that has changed
 * @throws BrokenVersions; the database's error
 */
export const followLists = async (
  pool: Pool,
  served: readonly ServedList[],
  onChange: (list: ServedList) => void = () => {},
): Promise<void> => {
  let failure: unknown;
  for (const head of await READ_LISTS.run(pool, {})) {
    const list = served.find(({ name }) => name === head.name);
    try {
      if ((await list?.follow(pool, head)) === true) onChange(list!);
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
};
