import type { ListContent } from '../../asset-check/lists/parse-list.js';
import type { OwnStatuses } from '../../asset-check/own/own-statuses.js';
import { entryAt, hashOfText } from '../../asset-check/lists/host-table.js';
import { CooperativeYield } from '../../flow/time.js';
import type { Groups } from './groups.js';
import { type Concerned, concernedBy, concernedByEntry, ENTRIES_PER_LOOK, type Listed } from './listed.js';

/** Numbers with a group each, in 8 bytes. */
class NumbersByGroup {
  private groups = new Uint32Array(64);
  private numbers = new Uint32Array(64);
  private end = 0;

  add(group: number, number: number): void {
    if (this.end === this.groups.length) {
      const [groups, numbers] = [this.groups, this.numbers];
      this.groups = new Uint32Array(1.5 * this.end);
      this.numbers = new Uint32Array(1.5 * this.end);
      this.groups.set(groups);
      this.numbers.set(numbers);
    }
    this.groups[this.end] = group;
    this.numbers[this.end] = number;
    this.end += 1;
  }

  of(isWanted: (group: number) => boolean): Set<number> {
    const found = new Set<number>();
    for (let n = 0; n < this.end; n += 1) if (isWanted(this.groups[n]!)) found.add(this.numbers[n]!);
    return found;
  }

  has(group: number, number: number): boolean {
    for (let n = this.groups.indexOf(group); n !== -1 && n < this.end; n = this.groups.indexOf(group, n + 1))
      if (this.numbers[n] === number) return true;
    return false;
  }
}

const groupsOf = (groups: Groups, { hosts, key }: Concerned): number[] => [
  ...hosts.map((host) => groups.ofHost(host)),
  ...(key === undefined ? [] : [groups.ofKey(key)]),
];

/** Finds the entries of lists and the own statuses of some groups. Has no texts, but where they are. */
export class EntryIndex {
  private readonly lists: { readonly texts: Uint8Array; readonly starts: NumbersByGroup }[] = [];
  /** The hashes of the keys. A key stays when its status ends. */
  private readonly own = new NumbersByGroup();

  constructor(private readonly groups: Groups) {}

  /** Adds the entries of lists to the index and to what is listed. Lets other work run in between. */
  async readLists(lists: readonly ListContent[], listed: Listed): Promise<void> {
    const yielding = new CooperativeYield();
    let seen = 0;
    for (const { table } of lists) {
      const starts = new NumbersByGroup();
      let list: Uint8Array | undefined;
      for (const [texts, start] of table.entries()) {
        list ??= texts;
        const { text, flags } = entryAt(texts, start);
        for (const group of groupsOf(this.groups, concernedByEntry(text))) starts.add(group, start);
        listed.addEntry(text, flags);
        if (++seen % ENTRIES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
      }
      if (list !== undefined) this.lists.push({ texts: list, starts });
    }
  }

  /** Adds own statuses to the index and to what is listed. Lets other work run in between. */
  async readOwn(own: OwnStatuses | undefined, listed: Listed): Promise<void> {
    const yielding = new CooperativeYield();
    let seen = 0;
    for (const [key, isBlocked] of own?.keys ?? []) {
      this.addOwn(key);
      listed.addOwn(key, isBlocked);
      if (++seen % ENTRIES_PER_LOOK === 0 && yielding.isDue()) await yielding.yieldNow();
    }
  }

  private addOwn(key: string): void {
    const hash = hashOfText(key);
    for (const group of groupsOf(this.groups, concernedBy(key))) this.own.add(group, hash);
  }

  /** Adds a key that may be in the index. */
  addChanged(key: string): void {
    const hash = hashOfText(key);
    for (const group of groupsOf(this.groups, concernedBy(key)))
      if (!this.own.has(group, hash)) this.own.add(group, hash);
  }

  /** Adds the entries of some groups to what is listed. */
  find(isWanted: (group: number) => boolean, own: OwnStatuses | undefined, listed: Listed): void {
    for (const { texts, starts } of this.lists)
      for (const start of starts.of(isWanted)) {
        const { text, flags } = entryAt(texts, start);
        listed.addEntry(text, flags);
      }
    if (own === undefined) return;
    for (const hash of this.own.of(isWanted))
      for (const [key, isBlocked] of own.withHash(hash)) listed.addOwn(key, isBlocked);
  }
}
