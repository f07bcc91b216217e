import { Logger } from '@nestjs/common';
import { ConfigError } from '../../runtime/config.js';
import {
  API_KEYS_STREAM,
  CATEGORIES,
  ERASED_CATEGORY,
  OPERATIONS_STREAM,
  STREAM_PREFIXES,
} from '../../events/streams.js';
import type { RecordedEvent } from '../event-log.js';
import { Unavailable } from '../../errors.js';
import { Backoff, retry } from '../../flow/time.js';
import { DeniedByStore } from './failures.js';

const IN_CATEGORIES: ReadonlySet<string> = new Set([...CATEGORIES, ERASED_CATEGORY]);
/** Names of this service have no control characters, and PostgreSQL cannot store all of them. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f-\x9f]/;
const PREFIX_OPTION = /([?&])streamPrefix=([^&]*)(&|$)/;

/**
 * Decides which streams of an event store belong to this log: streams with the names of `src/events/streams.ts`, and a
 * prefix if several logs share the store.
 */
export class OurStreams {
  /**
   * Prefixes for the server's filter. The prefixes also match names such as `operations-of-others`, which `pick`
   * removes.
   */
  readonly prefixes: readonly string[];

  constructor(private readonly prefix: string) {
    this.prefixes = STREAM_PREFIXES.map((name) => prefix + name);
  }

  /** Returns the name in the store of a stream of this log. */
  nameInStore(stream: string): string {
    return this.prefix + stream;
  }

  includes(stream: string): boolean {
    const dash = stream.indexOf('-');
    if (dash !== -1) return IN_CATEGORIES.has(stream.slice(0, dash)) && !CONTROL.test(stream);
    return stream === API_KEYS_STREAM || stream === OPERATIONS_STREAM;
  }

  /** Returns the log's name of a stream of this log; undefined for other streams. */
  nameInLog(stream: string): string | undefined {
    if (!stream.startsWith(this.prefix)) return undefined;
    const name = stream.slice(this.prefix.length);
    return this.includes(name) ? name : undefined;
  }

  /** Returns a stored event under the log's name of its stream; undefined for events of other applications and for tombstones. */
  pick(event: RecordedEvent): RecordedEvent | undefined {
    if (event.type.startsWith('$')) return undefined;
    const stream = this.nameInLog(event.stream);
    if (stream === undefined) return undefined;
    return this.prefix === '' ? event : { ...event, stream };
  }
}

/**
 * Removes the option `streamPrefix`, which the client does not know, from a connection string.
 * @throws ConfigError if the prefix is not 1 to 32 characters of A-Z a-z 0-9 . _
 */
export const readStreamPrefix = (url: string): { url: string; prefix: string } => {
  const found = PREFIX_OPTION.exec(url);
  if (found === null) return { url, prefix: '' };
  const [option, before, prefix, after] = found as unknown as [string, string, string, string];
  if (!/^[A-Za-z0-9._]{1,32}$/.test(prefix))
    throw new ConfigError('The streamPrefix in EVENTSTORE_URL must be 1 to 32 characters of A-Z a-z 0-9 . _');
  return { url: url.replace(option, after === '&' ? before : ''), prefix };
};

const TIMEOUT_MS = 20_000;
const MAX_PAUSE_MS = 400;
/** After this time without an answer, the operator is told what is awaited. */
const TELL_AFTER_MS = 3_000;

const TLS_ERROR = /certificate|self.signed|\bSSL\b|\bTLS\b|wrong version number|packet length too long/i;

/**
 * Opens the log. Says after some seconds which address is awaited. Retries for up to 20 s, because the store may still
 * be starting.
 * @param hosts where the store is awaited
 * @throws ConfigError if the store denies access, or no trusted connection is possible
 * @throws Unavailable if no store responds within 20 s
 */
export const openWithRetries = (hosts: string, open: () => Promise<void>): Promise<void> => {
  const giveUpAt = performance.now() + TIMEOUT_MS;
  const backoff = new Backoff(MAX_PAUSE_MS, MAX_PAUSE_MS);
  const telling = setTimeout(
    () =>
      new Logger('event-log').warn(`Waiting for the event store at ${hosts} (EVENTSTORE_URL), which does not answer`),
    TELL_AFTER_MS,
  );
  return retry(open, (error) => {
    const denial = error instanceof DeniedByStore ? error : (error as Error).cause;
    const reason = (denial instanceof Error ? denial : (error as Error)).message.replace(/\s+/g, ' ').trim();
    if (denial instanceof DeniedByStore)
      throw new ConfigError(`EVENTSTORE_URL: the event store refuses this user and password (${reason})`);
    if (TLS_ERROR.test(reason))
      throw new ConfigError(
        `EVENTSTORE_URL: no trusted connection to the event store (${reason}); name its certificate authority with tlsCAFile, or set tls=false if it does not use TLS`,
      );
    if (!(error instanceof Unavailable)) return undefined;
    if (performance.now() > giveUpAt)
      throw new Unavailable(
        `EVENTSTORE_URL: the event store did not answer for ${TIMEOUT_MS / 1_000} s (${reason})`,
        1,
        { cause: error },
      );
    return backoff.next();
  }).finally(() => clearTimeout(telling));
};
