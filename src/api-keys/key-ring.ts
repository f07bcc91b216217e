import { randomInt, createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { ApiKeyIssued, ApiKeyRevoked } from '../events/types/organizations.js';
import { parseEvent } from '../events/event.js';
import { API_KEYS_STREAM } from '../events/streams.js';
import { EventLog } from '../event-log/event-log.js';
import { followStream, type StreamCursor, EventsLost, START_OF_STREAM } from '../event-log/read-streams.js';
import { Unavailable } from '../errors.js';
import { ErasedOrganizations } from '../event-log/erased-organizations.js';
import { type Caller, ApiKeyVerifier } from '../http/access/caller.js';
import { Readiness } from '../ops/readiness.js';
import { finishesWithin, Backoff, pause } from '../flow/time.js';
import { DatabaseClock } from '../postgres/clock.js';
import { KeyUses } from './key-uses.js';
import { limit } from '../limits.js';

/**
 * A key is `tp_`, 30 random base62 characters (178 bits, so storing a plain SHA-256 is secure) and a checksum of 6
 * characters. Prefix and checksum allow secret scanners to find leaked keys, and allow the service to reject typos
 * without a lookup.
 */
const PREFIX = 'tp_';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORMAT = /^tp_[0-9A-Za-z]{36}$/;

const FORM_ISSUE = `The value does not have the form of a key: a key is ${PREFIX} and ${RANDOM_LENGTH + CHECKSUM_LENGTH} letters and digits, of which the last ${CHECKSUM_LENGTH} are a checksum; send the whole key, as it was issued`;

const checksum = (text: string): string => {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = DIGITS[rest % 62]! + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
};

export const createKey = (): string => {
  const random = Array.from({ length: RANDOM_LENGTH }, () => DIGITS[randomInt(62)]).join('');
  return PREFIX + random + checksum(PREFIX + random);
};

/** Whether a string has the format and checksum of a key. */
export const isWellFormed = (key: string): boolean =>
  FORMAT.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH);

/**
 * Returns the operator that the metadata of an event names; undefined if the metadata names no operator, as in events
 * of earlier versions. Appending an event does not check the type of its metadata.
 */
const operatorOf = (metadata: unknown): string | undefined => {
  const { operator } = (metadata ?? {}) as Record<string, unknown>;
  return typeof operator === 'string' ? operator : undefined;
};

/**
 * Calls `onEvent` for each key event after `from`, in order. Invalid events are skipped.
 * @returns the cursor to continue from
 * @throws EventsLost if the event before `from` is no longer in the log
 */
export const readKeyEvents = (
  log: EventLog,
  from: StreamCursor,
  onEvent: (event: ApiKeyIssued | ApiKeyRevoked, operator: string | undefined) => void,
): Promise<StreamCursor> =>
  followStream(log, API_KEYS_STREAM, 'Key events', from, ({ type, data, metadata }) => {
    if (type !== 'ApiKeyIssued' && type !== 'ApiKeyRevoked') return;
    const parsed = parseEvent<'ApiKeyIssued' | 'ApiKeyRevoked'>(type, data);
    if (parsed.event) onEvent(parsed.event, operatorOf(metadata));
  });

const POLL_MS = 250;
const MAX_BACK_OFF_MS = 2_000;
/** Maximum number of cached keys. An attacker cannot fill the cache, because only valid keys are cached. */
const MAX_CACHED_KEYS = 10_000;
/** How long a request with an unknown key waits for a read of the key events, in ms. */
const MAX_WAIT_FOR_READ_MS = limit('wait of a request with an unknown key', 1_000, 'ms', 'request', '401');
/** Maximum number of requests with unknown keys that wait. Further requests are rejected immediately. */
const MAX_WAITING = limit('requests with an unknown key that wait', 1_000, 'requests', 'process', '401');

type Key = ApiKeyIssued['data'] & { readonly caller: Caller };

/** The keys that are not revoked, according to the key events read so far. */
class Keys {
  readonly byDigest = new Map<string, Key>();
  private readonly digestById = new Map<string, string>();
  /** The number of keys in `byDigest` by organization. */
  readonly byOrganization = new Map<string, number>();
  private readonly revoked = new Set<string>();
  private cursor = START_OF_STREAM;

  /** Whether a key was issued, even if it has been revoked. */
  hasSeen(digest: string): boolean {
    return this.byDigest.has(digest) || this.revoked.has(digest);
  }

  get isEmpty(): boolean {
    return this.cursor.lastEventId === undefined;
  }

  /** Reads new key events. @throws EventsLost if events read earlier are no longer in the log */
  async read(log: EventLog, onRevoked: (keyId: string) => void): Promise<void> {
    this.cursor = await readKeyEvents(log, this.cursor, (event) => {
      if (event.type === 'ApiKeyIssued') {
        const { keyId, keyHash, organization, scopes, name, expiresAt } = event.data;
        // The erasure of an organization may store the event again.
        if (this.revoked.has(keyHash)) return;
        const caller = Object.freeze({ keyId, organization, scopes, name, expiresAt });
        if (!this.byDigest.has(keyHash)) this.count(organization, 1);
        this.byDigest.set(keyHash, { ...event.data, caller });
        this.digestById.set(keyId, keyHash);
        return;
      }
      const digest = this.digestById.get(event.data.keyId);
      if (digest !== undefined) {
        this.count(this.byDigest.get(digest)?.organization, -1);
        this.byDigest.delete(digest);
        this.revoked.add(digest);
      }
      onRevoked(event.data.keyId);
    });
  }

  private count(organization: string | undefined, change: 1 | -1): void {
    if (organization === undefined) return;
    const keys = (this.byOrganization.get(organization) ?? 0) + change;
    if (keys > 0) this.byOrganization.set(organization, keys);
    else this.byOrganization.delete(organization);
  }
}

const pendingRead = (): { readonly ended: Promise<void>; readonly end: () => void } => {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { ended, end };
};

export const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex');

/**
 * Keeps all API keys in memory. The log is read at the start and then polled four times a second. Verifying a key
 * therefore does not depend on the projector or the read models. While the log is unavailable, known keys stay valid.
 */
@Injectable()
export class KeyRing extends ApiKeyVerifier implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('keys');
  private keys = new Keys();
  private readonly cache = new Map<string, Key>();
  private readonly stop = new AbortController();
  private polling: Promise<void> | undefined;
  private reading: Promise<void> = Promise.resolve();
  private isLoaded = false;
  /** Settles when the next read of the key events, which has not begun, has ended. */
  private nextRead = pendingRead();
  private waiting = 0;
  private revokedListener: (keyId: string) => void = () => {};

  constructor(
    private readonly log: EventLog,
    readiness: Readiness,
    private readonly uses: KeyUses,
    private readonly clock: DatabaseClock = new DatabaseClock(),
    private readonly erased: ErasedOrganizations = new ErasedOrganizations(),
  ) {
    super();
    readiness.register('keys', () => ({
      state: this.isLoaded ? 'ok' : 'unavailable',
      detail: { known: this.keys.byDigest.size },
    }));
  }

  verify(presented: string): Caller | undefined {
    if (!this.isLoaded) throw new Unavailable('The API keys have not been loaded yet; try again');
    let key = this.cache.get(presented);
    if (key === undefined) {
      if (!isWellFormed(presented)) return undefined;
      key = this.keys.byDigest.get(digestOf(presented));
      if (key === undefined) return undefined;
      if (this.cache.size >= MAX_CACHED_KEYS) this.cache.clear();
      this.cache.set(presented, key);
    }
    if (key.expiresAt !== undefined && key.expiresAt <= this.clock.now()) return undefined;
    if (key.organization !== undefined && this.erased.has(key.organization)) return undefined;
    this.uses.add(key.keyId);
    return key.caller;
  }

  formIssueOf(text: string): string | undefined {
    return isWellFormed(text) ? undefined : FORM_ISSUE;
  }

  /**
   * The read that the poll or an issued key causes serves all waiting requests, so that keys that somebody invents cause
   * no further reads.
   */
  verifyAfterRead(presented: string): Promise<Caller | undefined> | undefined {
    if (this.waiting >= MAX_WAITING || !isWellFormed(presented)) return undefined;
    // A key that is known, but revoked or expired, gains nothing by waiting.
    if (this.keys.hasSeen(digestOf(presented))) return undefined;
    this.waiting += 1;
    return finishesWithin(this.nextRead.ended, MAX_WAIT_FOR_READ_MS).then(() => {
      this.waiting -= 1;
      return this.verify(presented);
    });
  }

  hasKeyOf(organization: string): boolean {
    return this.keys.byOrganization.has(organization);
  }

  onRevoked(listener: (keyId: string) => void): void {
    this.revokedListener = listener;
  }

  /** Reads new key events. Concurrent calls read one after another, so that revocations are applied in order. */
  refresh(): Promise<void> {
    const begin = (): Promise<void> => {
      const { end } = this.nextRead;
      this.nextRead = pendingRead();
      return this.read().finally(end);
    };
    this.reading = this.reading.catch(() => undefined).then(begin);
    return this.reading;
  }

  onApplicationBootstrap(): void {
    this.polling = this.pollUntilStopped();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.polling;
  }

  /**
   * Reads which organizations were erased, and new key events. If key events read earlier are no longer in the log, all
   * keys are read again and then replace the known keys. If the log has no key events at all, the known keys are kept.
   */
  private async read(): Promise<void> {
    const log = this.log.forSubscriptions;
    if (await this.erased.read(log))
      for (const { keyId, organization } of this.keys.byDigest.values())
        if (organization !== undefined && this.erased.has(organization)) this.revokedListener(keyId);
    try {
      // Revocations are rare, so the whole cache is cleared instead of finding the revoked key.
      await this.keys.read(log, (keyId) => {
        this.cache.clear();
        this.revokedListener(keyId);
      });
    } catch (error) {
      if (!(error instanceof EventsLost)) throw error;
      const keys = new Keys();
      await keys.read(log, () => {});
      if (keys.isEmpty)
        throw new Unavailable('The log has no API keys although it had some before; known keys stay valid');
      const lost = [...this.keys.byDigest].filter(([digest]) => !keys.byDigest.has(digest));
      const isErased = ({ organization }: { organization?: string | undefined }): boolean =>
        organization !== undefined && this.erased.has(organization);
      if (lost.length > 0 && lost.every(([, key]) => isErased(key)))
        this.logger.log(
          'The keys of an erased organization were removed; the other keys were loaded again from the log',
        );
      else this.logger.warn(`${error.message}; the keys were loaded again from the log`);
      this.keys = keys;
      this.cache.clear();
      for (const [, { keyId }] of lost) this.revokedListener(keyId);
    }
    this.isLoaded = true;
  }

  private async pollUntilStopped(): Promise<void> {
    const { signal } = this.stop;
    const backoff = new Backoff(2 * POLL_MS, MAX_BACK_OFF_MS);
    let wait = POLL_MS;
    while (!signal.aborted) {
      try {
        await this.refresh();
        backoff.reset();
        if (wait !== POLL_MS) this.logger.log('API keys can be read again');
        wait = POLL_MS;
      } catch (error) {
        if (wait === POLL_MS) this.logger.warn(`API keys cannot be read: ${(error as Error).message}; retrying`);
        wait = backoff.next();
      }
      await pause(wait, signal);
    }
  }
}
