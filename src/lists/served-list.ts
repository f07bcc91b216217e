import type { Pool } from 'pg';
import { limit } from '../limits.js';
import type { RowOf } from '../postgres/statement.js';
import type { ListName } from './built-lists.js';
import { History, markOf, type VersionMark } from './history.js';
import { FIRST_OF_NEWEST, READ_LIST_VERSIONS, type READ_LISTS, READ_WHOLE_LIST } from './list-versions.js';
import { applyChange, checksumOf, countOf, mergeChanges, type Change } from './sorted-hashes.js';

type Head = RowOf<typeof READ_LISTS>;

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
  /** The version has everything that was stored before this instant, in ms. */
  readonly cutAt: number;
  readonly signature: Buffer | null;
  readonly hashes: Uint8Array;
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
const INITIAL = { number: 0, cutAt: 0, hashes: EMPTY };

/** The newest version of one list, and the changes that led to it, as far as they fit into memory. */
export class ServedList {
  private history = new History(MAX_HISTORY_BYTES);
  private newest: ListVersion | undefined;

  constructor(readonly name: ListName) {}

  /** Undefined until a version has been built and read. */
  get current(): ListVersion | undefined {
    return this.newest;
  }

  /**
   * Reads the versions up to `head`. If this process has a version that the database does not have, as after a restore,
   * everything is read again.
   * @returns whether the version is another one now
   * @throws BrokenVersions if the stored versions contradict their checksums; the database's error
   */
  async follow(pool: Pool, head: Head): Promise<boolean> {
    const before = this.newest;
    if (head.number === 0) this.reset();
    else if (before === undefined || head.number < before.number) await this.readAll(pool, head);
    else if (head.number > before.number || !head.sha256.equals(before.sha256))
      try {
        await this.readAfter(pool, before, this.history, head);
      } catch (error) {
        if (!(error instanceof BrokenVersions)) throw error;
        await this.readAll(pool, head);
      }
    return this.newest !== before;
  }

  /**
   * Returns what has changed since a version of a client, or undefined if the client needs the whole list: its version is
   * unknown, too old, or further from the newest version than the empty list.
   */
  async changeSince(
    since: VersionMark,
  ): Promise<{ readonly version: ListVersion; readonly change: Change } | undefined> {
    const version = this.newest;
    const found = this.history.after(since);
    if (version === undefined || found === undefined || found.hashes > countOf(version.hashes)) return undefined;
    return { version, change: await mergeChanges(found.changes) };
  }

  private reset(): void {
    this.newest = undefined;
    this.history = new History(MAX_HISTORY_BYTES);
  }

  private async readAll(pool: Pool, head: Head): Promise<void> {
    this.reset();
    const { name } = this;
    const [whole] = await READ_WHOLE_LIST.run(pool, { name });
    const [first] = await FIRST_OF_NEWEST.run(pool, { name, maxBytes: MAX_HISTORY_BYTES });
    const base = whole === undefined ? INITIAL : { ...INITIAL, number: whole.number, hashes: whole.hashes! };
    const history = new History(MAX_HISTORY_BYTES);
    await this.readAfter(pool, base, history, head, Math.min(first?.number ?? Infinity, base.number || 1) - 1);
    this.history = history;
  }

  /**
   * Applies the versions after `base`. The versions from `after` to `base` only enter the history.
   * @throws BrokenVersions
   */
  private async readAfter(
    pool: Pool,
    base: Pick<ListVersion, 'number' | 'hashes'>,
    history: History,
    head: Head,
    after = base.number,
  ): Promise<void> {
    const { name } = this;
    let { hashes } = base;
    let read = after;
    let last: Omit<ListVersion, 'hashes' | 'token' | 'mark'> | undefined;
    const found: (VersionMark & { readonly change: Change })[] = [];
    while (read < head.number) {
      const rows = await READ_LIST_VERSIONS.run(pool, { name, after: read, ...PAGE });
      if (rows.length === 0) break;
      for (const { number, removed, added, ...row } of rows) {
        const isFirst = found.length === 0 && number <= base.number;
        if (!isFirst && number !== read + 1) throw new BrokenVersions(`Version ${read + 1} of ${name} is missing`);
        if (number > base.number) hashes = this.apply(hashes, number, { removed, added });
        last = { number, ...row };
        read = number;
        found.push({ number, mark: markOf(row.sha256), change: { removed, added } });
      }
    }
    if (last === undefined || !last.sha256.equals(await checksumOf(hashes)))
      throw new BrokenVersions(`The versions of ${name} up to ${read} do not lead to the checksum of ${head.number}`);
    for (const { change, ...mark } of found) history.add(mark, change);
    const mark = markOf(last.sha256);
    this.newest = { ...last, mark, token: tokenOf({ number: last.number, mark }), hashes };
  }

  private apply(hashes: Uint8Array, number: number, change: Change): Uint8Array {
    try {
      return applyChange(hashes, change);
    } catch (error) {
      throw new BrokenVersions(`Version ${number} of ${this.name}: ${(error as Error).message}`);
    }
  }
}
