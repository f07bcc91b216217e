import { ConfigError } from '../../runtime/config.js';
import { API_KEYS_STREAM, CATEGORIES, OPERATIONS_STREAM, STREAM_PREFIXES } from '../../events/streams.js';
import type { RecordedEvent } from '../event-log.js';

const IN_CATEGORIES: ReadonlySet<string> = new Set(CATEGORIES);
const PREFIX_OPTION = /([?&])streamPrefix=([^&]*)(&|$)/;

/**
 * Which streams of an event store belong to this log: those named by `src/events/streams.ts`, with a prefix if several
 * logs share the store.
 */
export class OurStreams {
  /** The server's filter. It also matches `operations-of-others`, so `pick` decides. */
  readonly prefixes: readonly string[];

  constructor(private readonly prefix: string) {
    this.prefixes = STREAM_PREFIXES.map((name) => prefix + name);
  }

  /** The name that a stream of this service has in the store. */
  nameInStore(stream: string): string {
    return this.prefix + stream;
  }

  includes(stream: string): boolean {
    const dash = stream.indexOf('-');
    if (dash !== -1) return IN_CATEGORIES.has(stream.slice(0, dash));
    return stream === API_KEYS_STREAM || stream === OPERATIONS_STREAM;
  }

  /** A stored event as the log has it; undefined for other applications' events. */
  pick(event: RecordedEvent): RecordedEvent | undefined {
    if (!event.stream.startsWith(this.prefix)) return undefined;
    const stream = event.stream.slice(this.prefix.length);
    if (!this.includes(stream)) return undefined;
    return this.prefix === '' ? event : { ...event, stream };
  }
}

/**
 * Removes the option `streamPrefix` from a connection string: the client does not know it.
 * @throws ConfigError if it is not 1 to 32 of A-Z a-z 0-9 . _
 */
export const readStreamPrefix = (url: string): { url: string; prefix: string } => {
  const found = PREFIX_OPTION.exec(url);
  if (found === null) return { url, prefix: '' };
  const [option, before, prefix, after] = found as unknown as [string, string, string, string];
  if (!/^[A-Za-z0-9._]{1,32}$/.test(prefix))
    throw new ConfigError('EVENTSTORE_URL has a streamPrefix that is not 1 to 32 of A-Z a-z 0-9 . _');
  return { url: url.replace(option, after === '&' ? before : ''), prefix };
};
