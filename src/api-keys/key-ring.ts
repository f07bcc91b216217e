import { createHash } from 'node:crypto';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Unavailable } from '../errors.js';
import type { ApiKeyIssued } from '../events/types/api-keys.js';
import { EventLog } from '../event-log/event-log.js';
import type { Caller } from '../http/access/caller.js';
import { ApiKeyVerifier } from '../http/access/api-key-verifier.js';
import { Readiness } from '../ops/readiness.js';
import { Backoff, pause } from '../flow/retry.js';
import { DatabaseClock } from '../postgres/clock.js';
import { isWellFormed } from './key-format.js';
import { KeysLost, NO_KEYS, readKeyEvents } from './key-events.js';
import { KeyUses } from './key-uses.js';

const POLL_MS = 250;
const MAX_BACK_OFF_MS = 2_000;
/** Cached digests of keys in use. A stranger cannot fill the cache: only valid keys are in it. */
const MAX_REMEMBERED = 10_000;

type Key = ApiKeyIssued['data'] & { readonly caller: Caller };

/** What the key events up to a place say. */
class Keys {
  readonly byDigest = new Map<string, Key>();
  private readonly byId = new Map<string, string>();
  private place = NO_KEYS;

  get isEmpty(): boolean {
    return this.place.last === undefined;
  }

  /** @throws KeysLost */
  async read(log: EventLog, onRevoked: () => void): Promise<void> {
    this.place = await readKeyEvents(log, this.place, (event) => {
      if (event.type === 'ApiKeyIssued') {
        const { keyId, keyHash, organization, scopes, name, expiresAt } = event.data;
        const caller = Object.freeze({ keyId, organization, scopes, name, expiresAt });
        this.byDigest.set(keyHash, { ...event.data, caller });
        this.byId.set(keyId, keyHash);
        return;
      }
      const digest = this.byId.get(event.data.keyId);
      if (digest !== undefined) this.byDigest.delete(digest);
      onRevoked();
    });
  }
}

export const digestOf = (key: string): string => createHash('sha256').update(key).digest('hex');

/**
 * Every key, in memory: read from the log at the start, then polled four times a second. So a revocation depends on no
 * projector, and dropping the read models locks nobody out. While the log is unavailable, known keys stay valid.
 */
@Injectable()
export class KeyRing extends ApiKeyVerifier implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('keys');
  private keys = new Keys();
  private readonly remembered = new Map<string, Key>();
  private readonly stop = new AbortController();
  private following: Promise<void> | undefined;
  private reading: Promise<void> = Promise.resolve();
  private complete = false;

  constructor(
    private readonly log: EventLog,
    readiness: Readiness,
    private readonly uses: KeyUses,
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {
    super();
    readiness.register('keys', () => ({
      state: this.complete ? 'ok' : 'unavailable',
      detail: { known: this.keys.byDigest.size },
    }));
  }

  verify(presented: string): Caller | undefined {
    if (!this.complete) throw new Unavailable('The API keys have not been loaded yet; try again');
    let key = this.remembered.get(presented);
    if (key === undefined) {
      if (!isWellFormed(presented)) return undefined;
      key = this.keys.byDigest.get(digestOf(presented));
      if (key === undefined) return undefined;
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
      this.remembered.set(presented, key);
    }
    if (key.expiresAt !== undefined && key.expiresAt <= this.clock.now()) return undefined;
    this.uses.add(key.keyId);
    return key.caller;
  }

  /** Reads new key events; single flight, so that a revocation is never overtaken. */
  refresh(): Promise<void> {
    this.reading = this.reading.catch(() => undefined).then(() => this.read());
    return this.reading;
  }

  onApplicationBootstrap(): void {
    this.following = this.follow();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stop.abort();
    await this.following;
  }

  /**
   * If events that were read are no longer in the log, the keys are replaced by those that the log holds now; until all
   * of these have been read, the known ones stay valid. A log that answers without any key event replaces nothing.
   */
  private async read(): Promise<void> {
    const log = this.log.forFollowers;
    try {
      // Revocations are rare, and this is simpler than finding the one key; the others are cached again when used.
      await this.keys.read(log, () => this.remembered.clear());
    } catch (error) {
      if (!(error instanceof KeysLost)) throw error;
      const keys = new Keys();
      await keys.read(log, () => {});
      if (keys.isEmpty) throw new Unavailable('The log answers that it holds no API keys, although it held some');
      this.logger.warn(`${error.message}; the keys that the log holds now are used`);
      this.keys = keys;
      this.remembered.clear();
    }
    this.complete = true;
  }

  private async follow(): Promise<void> {
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
