import { Yielder } from '../../flow/yielder.js';
import { HostTableBuilder } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { PATH_OF_ONE_HOST, readEntry } from './list-entry.js';

/** A list as a stream of bytes. */
export interface Body {
  readonly chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** Bytes. */
  readonly size: number;
}

/** The content is not a usable list. The message says why. */
export class ListRefused extends Error {}

const MAX_EXAMPLES = 10;
const MAX_EXAMPLE = 120;
/** The type prefix of a page or profile; hosts and addresses have no capital letters before a colon. */
const PROFILE = /^[A-Z_]+:/;

/** Collects entries and counts the ones it leaves out. */
export class Collector {
  readonly builder: HostTableBuilder;
  readonly turns = new Yielder();
  readonly unused: string[] = [];
  unusedCount = 0;
  pages = 0;
  refused = 0;

  constructor(
    private readonly suffixes: HostingSuffixes,
    private readonly wide: boolean,
    expectedBytes: number,
  ) {
    this.builder = new HostTableBuilder(expectedBytes);
  }

  take(entry: unknown, flags: number): void {
    const text = typeof entry === 'string' ? readEntry(entry, this.suffixes, this.wide) : undefined;
    if (typeof text === 'string') {
      if (PROFILE.test(text)) this.pages += 1;
      return this.builder.add(text, flags, (entry as string).trim());
    }
    this.refused += 1;
    if (text !== PATH_OF_ONE_HOST) return;
    this.unusedCount += 1;
    if (this.unused.length < MAX_EXAMPLES) this.unused.push((entry as string).trim().slice(0, MAX_EXAMPLE));
  }
}
