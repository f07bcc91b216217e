import type { Pool } from 'pg';
import { type Clock, CooperativeYield, monotonic } from '../../flow/time.js';
import type { BuiltLists, ListName } from '../built-lists.js';
import { digestOf, type Half } from '../expressions.js';
import type { ServedList } from '../served-list.js';
import {
  applyChange,
  bufferOf,
  type Change,
  changeBetween,
  HASH_BYTES,
  splitHashes,
  without,
} from '../sorted-hashes.js';
import type { StoredName } from './expression-names.js';
import { ADD_NAMES, forgetNames, MARK_NAMED, NAMELESS_HASHES, OTHER_NAMES, UNLIST_NAMES } from './name-statements.js';

/** A process that lost the lease while it stored names may have listed names again that no version has. */
const COMPARED_EVERY_MS = 3_600_000;
/** Names that are stored by one statement. */
const NAMES_AT_ONCE = 5_000;
/** Hashes of a first list that are named between two versions, so that the next version does not have to wait. */
const HASHES_AT_ONCE = 20_000;
const LISTS_OF: Readonly<Record<Half, readonly ListName[]>> = { ask: ['ask-8b'], list: ['all-8b', 'own-8b'] };
/** What is not blocked comes first, so that no client finds a blocked host without it. */
const HALVES: readonly Half[] = ['ask', 'list'];
const EMPTY = new Uint8Array();

type HashesOf = (name: ListName) => Uint8Array;

const inLists =
  (lists: BuiltLists['lists']): HashesOf =>
  (name) =>
    lists.get(name) ?? EMPTY;

const unionOf = (one: Uint8Array, other: Uint8Array): Uint8Array =>
  applyChange(one, { removed: EMPTY, added: without(other, one) });

/**
 * Returns what changes in the expressions of a half. What one list loses may still be in the other: it counts as added,
 * because it may now be the entry of another source.
 */
const changeOf = (half: Half, before: HashesOf, after: HashesOf): Change => {
  const changes = LISTS_OF[half].map((name) => changeBetween(before(name), after(name)));
  const lost = changes.map((change) => change.removed).reduce(unionOf);
  const removed = LISTS_OF[half].reduce((left, name) => without(left, after(name)), lost);
  return { removed, added: [...changes.map((change) => change.added), without(lost, removed)].reduce(unionOf) };
};

/** Stores the names of what is listed, for the process that builds. */
export class ListNames {
  /** The lists whose names are stored, but for the backlog; undefined if that is not known. */
  private named: BuiltLists['lists'] | undefined;
  /** The lists of which all other names are unlisted; undefined if that is not known. */
  private kept: BuiltLists['lists'] | undefined;
  /** The hashes without a name: the rest of a first list, and those whose status changed before they were looked up. */
  private backlog: { readonly half: Half; readonly hashes: Uint8Array }[] = [];

  /** When all names were last compared. */
  private comparedAt = -Infinity;

  constructor(
    private readonly pool: Pool,
    private readonly clock: Clock = monotonic,
  ) {}

  /** Called when another process may have stored names, or when what was stored was not published. */
  reset(): void {
    this.named = undefined;
    this.kept = undefined;
  }

  /**
   * Stores the names of what a build adds, before the version is published, so that whoever sees the version finds the
   * names. Those of a first list follow during the next calls, as do those whose status changed during the build.
   * @param served the lists that are published
   * @throws the database's error; the next call then compares all names
   */
  async store(built: BuiltLists, served: readonly ServedList[]): Promise<void> {
    const before = this.named;
    const areNamed = served.every(({ head }) => head?.hasNames === true);
    if (built.lists === before && this.backlog.length === 0 && areNamed) return;
    this.named = undefined;
    const after = inLists(built.lists);
    const published: HashesOf = (name) => served.find((each) => each.name === name)?.current?.hashes ?? EMPTY;
    const known = before === undefined ? published : inLists(before);
    if (before === undefined) {
      // A version of before local lists does not know the names when it redacts.
      await forgetNames(this.pool);
      this.backlog = HALVES.flatMap((half) => LISTS_OF[half].map((name) => ({ half, hashes: after(name) })));
    }
    if (before !== undefined || areNamed)
      for (const half of HALVES) await this.name(built, half, splitHashes(changeOf(half, known, after).added));
    await this.reduceBacklog(built);
    // Repeated until the lists say so, because the names of a first list may be stored before the list is.
    if (!areNamed && this.backlog.length === 0) await MARK_NAMED.run(this.pool, {});
    this.named = built.lists;
  }

  /**
   * Unlists the names of what a published version no longer has. Not before it is published: a process that has lost the
   * lease would unlist names of versions that it does not know.
   * @throws the database's error; the next call then compares all names
   */
  async unlistOthers({ lists }: BuiltLists): Promise<void> {
    const now = this.clock.now();
    const before = now < this.comparedAt + COMPARED_EVERY_MS ? this.kept : undefined;
    this.kept = undefined;
    // What is blocked goes first, so that no client finds it without what is not blocked.
    for (const half of HALVES.toReversed())
      if (before !== undefined) await this.unlist(half, changeOf(half, inLists(before), inLists(lists)).removed);
      else {
        const listed = Buffer.concat(LISTS_OF[half].map(inLists(lists)));
        const others = await OTHER_NAMES.run(this.pool, { hashes: listed, isAsk: half === 'ask' });
        await this.unlist(half, Buffer.concat(others.map((row) => row.hash)));
      }
    this.kept = lists;
    if (before === undefined) this.comparedAt = now;
  }

  private async reduceBacklog(built: BuiltLists): Promise<void> {
    if (this.backlog.length === 0) return;
    let bytes = HASHES_AT_ONCE * HASH_BYTES;
    const { backlog } = this;
    this.backlog = [];
    for (const { half, hashes } of backlog) {
      if (hashes.length > bytes) this.backlog.push({ half, hashes: hashes.subarray(bytes) });
      await this.nameMissing(built, half, hashes.subarray(0, bytes));
      bytes = Math.max(0, bytes - hashes.length);
    }
  }

  /** Names those of some hashes that are listed and have no name yet. Some never get one. */
  private async nameMissing(built: BuiltLists, half: Half, hashes: Uint8Array): Promise<void> {
    const unlisted = LISTS_OF[half].map(inLists(built.lists)).reduce(without, hashes);
    const listed = without(hashes, unlisted);
    if (listed.length === 0) return;
    const rows = await NAMELESS_HASHES.run(this.pool, { hashes: bufferOf(listed), isAsk: half === 'ask' });
    await this.name(
      built,
      half,
      rows.map((row) => row.hash),
    );
  }

  private async name(built: BuiltLists, half: Half, hashes: readonly Buffer[]): Promise<void> {
    if (hashes.length === 0) return;
    const { names: found, changed } = await built.namesOf(half, hashes);
    if (changed.length > 0) this.backlog.push({ half, hashes: Buffer.concat(changed) });
    const isException = ({ exceptionHost }: StoredName): boolean => exceptionHost !== undefined;
    const names = [...found.filter(isException), ...found.filter((name) => !isException(name))];
    const yielding = new CooperativeYield();
    for (let from = 0; from < names.length; from += NAMES_AT_ONCE) {
      const rows = names
        .slice(from, from + NAMES_AT_ONCE)
        .map((name) => ({ ...name, hash: digestOf(name.expression).subarray(0, HASH_BYTES) }));
      await ADD_NAMES.runEach(this.pool, rows, { isAsk: half === 'ask' });
      if (yielding.isDue()) await yielding.yieldNow();
    }
  }

  private async unlist(half: Half, hashes: Uint8Array): Promise<void> {
    const bytes = NAMES_AT_ONCE * HASH_BYTES;
    for (let from = 0; from < hashes.length; from += bytes) {
      const some = bufferOf(hashes.subarray(from, from + bytes));
      await UNLIST_NAMES.run(this.pool, { hashes: some, isAsk: half === 'ask' });
    }
  }
}
