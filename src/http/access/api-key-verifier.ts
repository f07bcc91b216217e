import type { Caller } from './caller.js';

/** Tells good keys from others. Asked for every request before its body is read, so it answers from memory. */
export abstract class ApiKeyVerifier {
  /**
   * @returns who the key stands for; undefined where it is unknown, malformed, revoked or expired
   * @throws Unavailable while the keys have not been read yet
   */
  abstract verify(key: string): Caller | undefined;
}
