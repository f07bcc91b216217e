import { Query } from '@nestjs/cqrs';
import type { CheckVerdict, DisputeFiled } from './events/types/verdicts.js';

export interface PresentVerdict {
  readonly verdict: CheckVerdict;
  /**
   * The asset whose entry decided. Undefined if there is no verdict, or if it cannot be told which of several assets that
   * the content opens it was.
   */
  readonly asset: DisputeFiled['data']['asset'] | undefined;
  /** Whether the content was checked, and no enabled source that gave no answer can change the verdict. */
  readonly isSettled: boolean;
}

/** Checks contents as the asset check does, for other features. The feature `asset-check` handles this query. */
export class GetVerdicts extends Query<readonly PresentVerdict[]> {
  constructor(
    /** At most 1,000. */
    readonly contents: readonly string[],
    readonly organization: string,
    /** The verdicts reflect at least this position of the log. */
    readonly minPosition?: number,
    /**
     * The number of contents that may be sent to sources of the kind `http`. Results of the last five minutes are used
     * again; the source then gives no answer about a content without a result. Undefined: every content is looked up as in a check.
     */
    readonly maxLookups?: number,
  ) {
    super();
  }
}

/** The guard of a host. */
export interface GuardOfHost {
  /** The id of the guard. */
  readonly guard: string;
  /** Whether the guard contains a host below the host, rather than the host itself. */
  readonly isAbove: boolean;
}

/** The hosts that no list may block as a whole. The feature `asset-check` reads and provides them. */
export abstract class GuardedHosts {
  /** Returns the guard that contains the host or one below it; undefined if no guard does. */
  abstract guardOf(host: string): GuardOfHost | undefined;
}
