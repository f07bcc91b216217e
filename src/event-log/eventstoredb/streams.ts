import { ConfigError } from '../../runtime/config.js';
import {
  API_KEYS_STREAM,
  CATEGORIES,
  ERASED_CATEGORY,
  OPERATIONS_STREAM,
  STREAM_PREFIXES,
} from '../../events/streams.js';
import type { RecordedEvent } from '../event-log.js';

const IN_CATEGORIES: ReadonlySet<string> = new Set([...CATEGORIES, ERASED_CATEGORY]);
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
    if (dash !== -1) return IN_CATEGORIES.has(stream.slice(0, dash));
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
