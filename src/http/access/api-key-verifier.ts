import type { Caller } from './caller.js';

/**
 * Verifies API keys. The verifier is called for every request before the body is read, so an implementation must answer
 * from memory.
 */
export abstract class ApiKeyVerifier {
  /**
   * @returns the caller; undefined if the key is unknown, malformed, revoked or expired
   * @throws Unavailable while the keys have not been read yet
   */
  abstract verify(key: string): Caller | undefined;

  /**
   * Verifies a key that `verify` does not know, after the next read of the key events, because the key may have just
   * been issued by another process. A malformed key is not waited for.
   * @returns the caller; undefined as in `verify`
   */
  abstract verifyAfterRead(key: string): Promise<Caller | undefined> | undefined;

  /** Calls `listener` with the id of each key that has been valid and has been revoked or lost. */
  abstract onRevoked(listener: (keyId: string) => void): void;
}
