import { OWN_ROWS, type RowsByTable } from '../erasures/organization-rows.js';

/** Disputes about verdicts. */
export interface DisputeTables {
  /**
   * One row per dispute, written by the projection `records`. If a resolution or a redaction is stored before the
   * dispute, the columns of the dispute are null until the dispute arrives.
   */
  disputes: {
    organization: string;
    id: string;
    /** The hash of the disputed asset's normalised key. */
    asset: string | null;
    /** ms */
    created_at: number | null;
    /** ms. Null: the dispute is open. */
    resolved_at: number | null;
    /** ACCEPTED or REJECTED. */
    outcome: string | null;
    /** Hash of the `Idempotency-Key` of the request that filed the dispute. */
    request_key_hash: string | null;
    /** Revision of `DisputeFiled` in the stream `disputes-{organization}`. */
    revision: number | null;
    /** `DisputeFiled` as JSON: `eventId`, `position`, `recordedAt` and `data`. */
    filed: string | null;
    /** The newest `DisputeResolved` in the same form. */
    resolution: string | null;
    /** The last `ContentRedacted` as JSON: `position` and `recordedAt`. */
    redaction: string | null;
  };
  /** Whom to ask about a dispute. The log does not contain the contacts, so that they can be erased. */
  'service.dispute_contacts': {
    organization: string;
    dispute: string;
    contact: string;
    /** ms */
    stored_at: number;
  };
}

export const ROWS_OF_DISPUTES: RowsByTable<DisputeTables> = {
  disputes: OWN_ROWS,
  'service.dispute_contacts': OWN_ROWS,
};
