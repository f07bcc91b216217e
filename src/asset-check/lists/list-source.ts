import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ParsedContent } from '../../assets/parse-content.js';
import { Backoff, pause } from '../../flow/retry.js';
import type { Opinion } from '../opinion.js';
import { type Body, ListRefused } from './collector.js';
import { FirstSeen, type Seen } from './first-seen.js';
import { fetchList, type FetchedList, tooLarge } from './fetch-list.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { fingerprintOfSecrets, withoutSecrets } from './list-address.js';
import { describeRejected, readEntry } from './list-entry.js';
import { ListCopy, type ListState, seenPathOf } from './list-copy.js';
import { kindsOf, type ListContent, parseList } from './parse-list.js';
import { matchList } from './match-list.js';
import type { ListSettings } from '../sources/sources-file.js';
import type { SuffixHashes } from './suffix-hashes.js';

/** A list that shrinks to a tenth of its entries is assumed to be broken. */
const SHRINK = 10;
const FIRST_RETRY_MS = 5_000;

/** A list in memory: the last good version, refreshed in the background and kept on disk for the next start. */
export class ListSource {
  private content: ListContent | undefined;
  private readonly backoff: Backoff;
  private isFailing = false;
  private readonly copy: ListCopy;
  private readonly seen: FirstSeen;
  /** Whether first-seen times of the content in use were saved. */
  private isNoted = false;
  /** Why entries are not used, as last reported. */
  private reportedReasons = '';
  state: ListState;

  constructor(
    readonly settings: ListSettings,
    private readonly suffixes: HostingSuffixes,
    dataDir: string,
    /**
     * Called for every failed refresh, for the first successful one after a failure, and when other entries than before
     * are not used.
     */
    private readonly report: (sentence: string, level: 'log' | 'warn') => void,
  ) {
    this.backoff = new Backoff(FIRST_RETRY_MS, settings.refreshSeconds * 1_000);
    this.copy = new ListCopy(dataDir, settings.id);
    this.state = { id: settings.id, origin: originOf(settings), entries: 0, refused: 0, validators: {} };
    this.seen = new FirstSeen(seenPathOf(dataDir, settings.id), this.state.origin);
  }

  /** Whether there is a version to use: fetched, or from the copy on disk. */
  get wasRead(): boolean {
    return this.content !== undefined;
  }

  /** Bytes used by the entries in memory. */
  get bytes(): number {
    return this.content?.table.bytes ?? 0;
  }

  ask(reading: ParsedContent, hashes: SuffixHashes): Opinion {
    return matchList(this.content, this.settings.format, reading, hashes, this.suffixes);
  }

  /**
   * Since when the list has been watched, and has had the entry that an opinion names.
   * @param match as the list wrote it; undefined if the opinion names none
   * @returns undefined if the list is not tracked, or the disk fails
   */
  async seenSince(match: string | undefined): Promise<Seen | undefined> {
    const entry = match === undefined ? undefined : readEntry(match, this.suffixes, kindsOf(this.settings.format));
    return this.seen.find(typeof entry === 'object' ? entry.key : undefined).catch(() => undefined);
  }

  /** Loads the copy on disk, if it has the same origin. */
  async load(): Promise<void> {
    const state = await this.copy.readState();
    if (state?.origin !== this.state.origin || state.fetchedAt === undefined) return;
    const body = await this.copy.readBody(this.settings.maxBytes);
    if (body === undefined) return;
    try {
      this.content = await parseList(body, this.settings.format, this.settings.verdict, this.suffixes);
      this.state = { ...state, ...countsOf(this.content) };
    } catch (error) {
      this.report(`The copy of list ${this.settings.id} on disk is not used: ${describe(error)}`, 'warn');
    }
  }

  /** Refreshes periodically until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Spreads the requests of instances that started together.
      const regularly = this.settings.refreshSeconds * 1_000 * (0.95 + Math.random() * 0.1);
      await pause(this.isFailing ? this.backoff.next() : regularly, signal);
      if (!signal.aborted) await this.refresh(signal);
    }
  }

  /** Fetches the list once; on any failure the list in use stays. Never rejects. */
  async refresh(stop: AbortSignal): Promise<void> {
    const { id } = this.settings;
    try {
      const fetched = await this.fetch(stop);
      const now = Date.now();
      if (fetched.body === undefined) {
        this.state = { ...this.state, checkedAt: now, lastError: undefined, lastErrorAt: undefined };
      } else {
        const content = await this.read(fetched.body);
        this.content?.table.free();
        this.content = content;
        this.isNoted = false;
        this.state = {
          id,
          origin: this.state.origin,
          ...countsOf(content),
          fetchedAt: now,
          checkedAt: now,
          validators: fetched.validators,
        };
      }
      this.reportRejected();
      if (this.isFailing) this.report(`List ${id} is current again: ${this.state.entries} entries`, 'log');
      this.isFailing = false;
      this.backoff.reset();
      // Before the copy is written: with its validators, the next request would be answered "not modified".
      await this.note();
      await this.keep(true);
    } catch (error) {
      if (stop.aborted) return;
      this.isFailing = true;
      const lastError = describe(error);
      if (lastError !== this.state.lastError) this.report(`List ${id} was not refreshed: ${lastError}`, 'warn');
      this.state = { ...this.state, lastError, lastErrorAt: Date.now() };
      await this.keep(false);
    }
  }

  /** Only if something changed, because a list may have the same errors for years. */
  private reportRejected(): void {
    const { id, rejected = [], refused } = this.state;
    const reasons = rejected.map(describeRejected).join(', ');
    if (reasons !== this.reportedReasons && refused > 0)
      this.report(`List ${id} has ${refused} entries that are not used: ${reasons}`, 'log');
    this.reportedReasons = reasons;
  }

  private async fetch(stop: AbortSignal): Promise<FetchedList> {
    const { url, file, timeoutMs, maxBytes } = this.settings;
    const validators = this.content === undefined ? {} : this.state.validators;
    if (url !== undefined) {
      const { body, ...fetched } = await fetchList(url, { timeoutMs, maxBytes, validators }, stop);
      return { ...fetched, body: body && this.copy.record(body) };
    }
    // The operator's own file will still be there at the next start.
    const { mtimeMs, size } = await stat(file!);
    const etag = `${mtimeMs}-${size}`;
    if (etag === validators.etag) return { validators };
    if (size > maxBytes) throw new ListRefused(tooLarge(maxBytes));
    return { body: { chunks: createReadStream(file!), size }, validators: { etag } };
  }

  private async read(body: Body): Promise<ListContent> {
    const { format, verdict } = this.settings;
    const content = await parseList(body, format, verdict, this.suffixes);
    const { entries } = this.state;
    if (this.content !== undefined && content.table.size * SHRINK <= entries)
      throw new ListRefused(
        `It has shrunk from ${entries} entries to ${content.table.size}, which looks like a mistake; ` +
          'to accept it, stop the service, delete the copy in the data folder and restart',
      );
    return content;
  }

  /** As with the copy, a failing disk is only reported. */
  private async note(): Promise<void> {
    if (this.isNoted || this.content === undefined) return;
    try {
      await this.seen.note(this.content.table, this.state.fetchedAt ?? Date.now());
      this.isNoted = true;
    } catch (error) {
      this.report(`First-seen times of list ${this.settings.id} could not be saved: ${describe(error)}`, 'warn');
    }
  }

  /** Answers come from memory, so a failing disk is only reported. */
  private async keep(isGood: boolean): Promise<void> {
    try {
      await this.copy.write(this.state, isGood);
    } catch (error) {
      this.report(`List ${this.settings.id} could not be saved: ${describe(error)}`, 'warn');
    }
  }
}

const countsOf = ({ table, rejected }: ListContent) => ({
  entries: table.size,
  refused: rejected.reduce((sum, { count }) => sum + count, 0),
  rejected,
});

const originOf = ({ url, file, format, verdict }: ListSettings): string => {
  const from = url === undefined ? file! : `${withoutSecrets(url)} ${fingerprintOfSecrets(url)}`;
  return `${format} ${verdict} ${from}`.trimEnd();
};

const describe = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  // Node wraps a connection tried over several addresses in an AggregateError without a message.
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : error.message || error.name;
};
