import { Query } from '@nestjs/cqrs';
import type { CheckVerdict } from '../events/types/disputes.js';

/** Checks contents as the asset check does, for other features. The feature `asset-check` handles this query. */
export class GetVerdicts extends Query<readonly CheckVerdict[]> {
  constructor(
    /** At most 1,000. */
    readonly contents: readonly string[],
    readonly organization: string,
    /** The verdicts reflect at least this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}
