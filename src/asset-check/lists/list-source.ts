import { scryptSync } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ParsedContent } from '../../assets/asset.js';
import { Backoff, pause } from '../../flow/time.js';
import type { SourceResult } from '../verdict.js';
import { type Body, InvalidList } from './collector.js';
import { EXACTLY } from './host-table.js';
import { FirstSeen, type Seen } from './first-seen.js';
import { fetchList, type FetchedList, tooLarge } from './fetch-list.js';
import { Guards } from './guards.js';
import type { HostTable, SuffixHashes } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { describeRejected, readEntry } from './list-entry.js';
import { digested, ListCopy, type ListState, seenPathOf } from './list-copy.js';
import { kindsOf, type ListContent, parseList } from './parse-list.js';
import { matchList } from './match-list.js';
import type { ListSettings } from '../sources/sources-file.js';

/** Removes user, password, query and fragment from a URL, because they may contain secrets. */
export const withoutSecrets = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
};

/**
 * Returns a hash of the secrets of a URL, which distinguishes URLs that differ only in their secrets: two queries to
 * one server are two lists. The hash is slow to compute, because the hash is stored on disk and a password may be
 * short.
 * @returns '' if the URL has no secrets
 */
const fingerprintOfSecrets = (url: string): string => {
  const { username, password, search } = new URL(url);
  const secrets = [username, password, search];
  return secrets.some((part) => part !== '')
    ? scryptSync(JSON.stringify(secrets), withoutSecrets(url), 16).toString('base64url')
    : '';
};

/** A list that shrinks to a tenth of its entries or less is rejected as broken. */
const MAX_SHRINK_FACTOR = 10;
const FIRST_RETRY_MS = 5_000;

/**
 * A list in memory, which is refreshed in the background. The last valid version stays in use, and is saved on disk for
 * the next start.
 */
export class ListSource {
  private content: ListContent | undefined;
  private readonly backoff: Backoff;
  private isFailing = false;
  private readonly copy: ListCopy;
  private readonly seen: FirstSeen;
  /** Whether the first-seen times of the content in use are saved. */
  private isFirstSeenSaved = false;
  /**
   * The text about rejected entries (counts, reasons and examples) at the last check; the next text is logged only if
   * it differs.
   */
  private reportedReasons = '';
  /** Increments whenever the content is replaced. */
  version = 0;
  /** Whether the list was fetched by this process, or a fetch failed. */
  wasRefreshed = false;
  /** The versions of the list and of the guards for which the overruled entries were counted last. */
  private countedVersions = '';
  state: ListState;

  constructor(
    readonly settings: ListSettings,
    private readonly suffixes: HostingSuffixes,
    dataDir: string,
    /**
     * Called when a refresh fails with a new error, when a refresh succeeds after a failure, when the rejected entries
     * change, and when the disk fails or the copy on disk is unusable.
     */
    private readonly report: (sentence: string, level: 'log' | 'warn') => void,
    private readonly guards = new Guards(),
    /** Called after the content was replaced. */
    private readonly onChange: () => Promise<unknown> = () => Promise.resolve(),
  ) {
    this.backoff = new Backoff(FIRST_RETRY_MS, settings.refreshSeconds * 1_000);
    this.copy = new ListCopy(dataDir, settings.id);
    this.state = { id: settings.id, origin: originOf(settings), entries: 0, refused: 0, validators: {} };
    this.seen = new FirstSeen(seenPathOf(dataDir, settings.id), this.state.origin);
  }

  /** Whether a version of the list is in use, either fetched or loaded from disk. */
  get isLoaded(): boolean {
    return this.content !== undefined;
  }

  /** The list in use; undefined if it was never read. */
  get listed(): ListContent | undefined {
    return this.content;
  }

  get table(): HostTable | undefined {
    return this.content?.table;
  }

  get above(): HostTable | undefined {
    return this.content?.above;
  }

  /** Memory used by the entries, in bytes. */
  get bytes(): number {
    return this.content === undefined ? 0 : this.content.table.bytes + this.content.above.bytes;
  }

  check(parsed: ParsedContent, hashes: SuffixHashes): SourceResult {
    return matchList(this.content, this.settings.format, parsed, hashes, this.suffixes, this.guards);
  }

  /**
   * Returns since when the list has had an entry, and since when this service has read the list.
   * @param match the entry as the list wrote it; if undefined, only `watchedSince` is returned
   * @returns undefined if no first-seen times are stored for the list, or the disk fails
   */
  async seenSince(match: string | undefined): Promise<Seen | undefined> {
    const entry = match === undefined ? undefined : readEntry(match, this.suffixes, kindsOf(this.settings.format));
    const key = typeof entry === 'object' ? entry.key : undefined;
    const find = (one?: string): Promise<Seen | undefined> => this.seen.find(one).catch(() => undefined);
    const seen = await find(key);
    // The rule may be one for exactly the host.
    return key === undefined || seen === undefined || seen.since !== undefined ? seen : find(EXACTLY + key);
  }

  /**
   * Loads the copy on disk if it has the origin of the settings: format, verdict and URL. Any other copy is removed: if the
   * disk failed to save the next body, this body would be taken for it.
   */
  async load(): Promise<void> {
    await this.copy.removeLeftParts();
    const state = await this.copy.readState();
    if (this.settings.url === undefined || state?.origin !== this.state.origin) return this.copy.removeBody();
    if (state.fetchedAt === undefined) return;
    const stored = await this.copy.readBody(this.settings.maxBytes);
    if (stored === undefined) return;
    try {
      const body = digested(stored);
      this.content = await parseList(body, this.settings.format, this.settings.verdict, this.suffixes);
      // The validators of another body would make the server confirm this one.
      const validators = body.digest() === state.digest ? state.validators : {};
      this.state = { ...state, ...countsOf(this.content), validators };
      this.version += 1;
      await this.onChange();
    } catch (error) {
      this.report(`The copy of list ${this.settings.id} on disk is not used: ${describe(error)}`, 'warn');
    }
  }

  /** Refreshes the list periodically until `signal` aborts. */
  async refreshPeriodically(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // The pause has a jitter of 5 %, so that instances that started together do not send requests together.
      const regularPauseMs = this.settings.refreshSeconds * 1_000 * (0.95 + Math.random() * 0.1);
      await pause(this.isFailing ? this.backoff.next() : regularPauseMs, signal);
      if (!signal.aborted) await this.refresh(signal);
    }
  }

  /** Fetches the list once. If the fetch fails, the version in use is kept. Never rejects. */
  async refresh(stop: AbortSignal): Promise<void> {
    await this.fetchOnce(stop);
    this.wasRefreshed = true;
  }

  private async fetchOnce(stop: AbortSignal): Promise<void> {
    const { id } = this.settings;
    try {
      const fetched = await this.fetch(stop);
      const now = Date.now();
      if (fetched.body === undefined) {
        this.state = { ...this.state, checkedAt: now, lastError: undefined, lastErrorAt: undefined };
      } else {
        const body = digested(fetched.body);
        const content = await this.read(body);
        this.content?.table.free();
        this.content = content;
        this.version += 1;
        this.isFirstSeenSaved = false;
        this.state = {
          id,
          origin: this.state.origin,
          ...countsOf(content),
          overruled: this.state.overruled,
          fetchedAt: now,
          checkedAt: now,
          validators: fetched.validators,
          digest: body.digest(),
        };
      }
      await this.countOverruled();
      if (fetched.body !== undefined) await this.onChange();
      this.reportRejected();
      if (this.isFailing) this.report(`List ${id} is current again: ${this.state.entries} entries`, 'log');
      this.isFailing = false;
      this.backoff.reset();
      // First-seen times are saved before the copy: if the process ends between the two calls, every entry of the saved
      // copy has its first-seen time.
      await this.saveFirstSeen();
      await this.save(this.copy.write(this.state, true));
    } catch (error) {
      if (stop.aborted) return;
      this.isFailing = true;
      const lastError = describe(error);
      if (lastError !== this.state.lastError) this.report(`List ${id} was not refreshed: ${lastError}`, 'warn');
      this.state = { ...this.state, lastError, lastErrorAt: Date.now() };
      await this.save(this.copy.write(this.state, false));
    }
  }

  /** Counts the entries that guards overrule, if the list or a guard has changed since the last count. Never rejects. */
  async countOverruled(): Promise<void> {
    const versions = (): string => `${this.version} ${this.guards.version}`;
    while (this.table !== undefined && this.guards.areLoaded && versions() !== this.countedVersions) {
      const counted = versions();
      const overruled = await this.guards.overruledEntriesOf(this.table, this.suffixes);
      // A table that was replaced in the meantime has been freed, so the count is wrong.
      if (counted !== versions()) continue;
      this.countedVersions = counted;
      this.state = { ...this.state, overruled };
      await this.save(this.copy.writeState(this.state));
    }
  }

  /** Logs the rejected entries only if they have changed, because a list may have the same errors for years. */
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
    // A local file is not copied, because the file itself can be read at the next start.
    const { mtimeMs, size } = await stat(file!);
    const etag = `${mtimeMs}-${size}`;
    if (etag === validators.etag) return { validators };
    if (size > maxBytes) throw new InvalidList(tooLarge(maxBytes));
    return { body: { chunks: createReadStream(file!), size }, validators: { etag } };
  }

  private async read(body: Body): Promise<ListContent> {
    const { format, verdict } = this.settings;
    const content = await parseList(body, format, verdict, this.suffixes);
    const { entries } = this.state;
    if (this.content !== undefined && content.table.size * MAX_SHRINK_FACTOR <= entries)
      throw new InvalidList(
        `The list shrank from ${entries} entries to ${content.table.size}, which is probably a mistake; ` +
          'to accept it, stop the service, delete the copy in the data folder and restart',
      );
    return content;
  }

  /** Saves first-seen times. A disk failure is only logged. */
  private async saveFirstSeen(): Promise<void> {
    if (this.isFirstSeenSaved || this.content === undefined || this.settings.kind === 'guard') return;
    try {
      await this.seen.update(this.content.table, this.state.fetchedAt ?? Date.now());
      this.isFirstSeenSaved = true;
    } catch (error) {
      this.report(`First-seen times of list ${this.settings.id} could not be saved: ${describe(error)}`, 'warn');
    }
  }

  /** A disk failure is only logged, because checks use the list in memory. */
  private async save(written: Promise<void>): Promise<void> {
    try {
      await written;
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
  // If connecting to several addresses failed, Node throws an AggregateError without a message.
  const [first] = error instanceof AggregateError ? error.errors : [];
  return first instanceof Error ? first.message : error.message || error.name;
};
