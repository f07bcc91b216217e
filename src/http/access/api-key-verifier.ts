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
}
