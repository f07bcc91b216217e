import type { Caller } from './caller.js';

/** Verifies API keys. Called for every request before its body is read, so it answers from memory. */
export abstract class ApiKeyVerifier {
  /**
   * @returns the key's caller; undefined if it is unknown, malformed, revoked or expired
   * @throws Unavailable while the keys have not been read yet
   */
  abstract verify(key: string): Caller | undefined;
}
