import type { Half } from './expressions.js';
import type { StoredName } from './names/expression-names.js';

/** The lists, whose entries are the first 8 bytes of the SHA-256 of an expression. */
export const LIST_NAMES = ['all-8b', 'own-8b', 'ask-8b'] as const;
export type ListName = (typeof LIST_NAMES)[number];

/** The result of looking up hashes. */
export interface FoundNames {
  /** The names of the hashes that have one. */
  readonly names: readonly StoredName[];
  /**
   * The hashes whose expression was not found, because a status has changed since the build. A later build may find the
   * expression again.
   */
  readonly changed: readonly Buffer[];
}

/** The lists as built from the sources at one moment. */
export interface BuiltLists {
  /** The hashes of each list: sorted, unique values of 8 bytes, big endian. */
  readonly lists: ReadonlyMap<ListName, Uint8Array>;
  /** The ids of the sources that `all-8b` has. */
  readonly covers: readonly string[];
  /** The sources whose verdicts are not, or not all, in `all-8b`. */
  readonly notCovered: readonly { source: string; reason: string }[];
  /** The ids of sources that may be listed and have never been read, and `GUARDS` if a guard has not. */
  readonly unread: readonly string[];
  /** Looks up the names of some hashes. Not called while the next lists are built. */
  readonly namesOf: (half: Half, hashes: readonly Buffer[]) => Promise<FoundNames>;
}

/** Stands for the guards in `unread`. No source has this id. */
export const GUARDS = '*';
