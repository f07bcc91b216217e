import { OWN_ROWS, type RowsByTable } from '../erasures/organization-rows.js';

/** The records that lists and the feed show. */
export interface ListedRecordTables {
  /**
   * One row for each record and each organization that the record concerns, including deleted records. Reports, threats
   * and takedowns are last-writer-wins rows; verdicts are derived from `reviewed_entries`.
   */
  listed_records: {
    organization: string;
    /** As in `listed-items.ts`. */
    kind: number;
    id: string;
    version: number;
    /** The event of the state. Together with the version, it decides which of two states is newer. */
    event_id: string;
    /** Position in the log of the event that last changed the row. The feed is in this order. */
    position: number;
    /**
     * The event at the position, if it is not the event of the state: after a redaction, `ContentRedacted`. Both columns
     * are null otherwise. `moved_by` counts only while `moved_to` is the position, because a projector of version 2.1 does
     * not change these columns.
     */
    moved_to: number | null;
    moved_by: string | null;
    /** When the log stored that event. ms */
    stored_at: number;
    /** ms. This and the following columns are null if the record was deleted or no longer concerns the organization. */
    created_at: number | null;
    /** Null for reports, which have neither a status nor an asset. */
    status: string | null;
    type: string | null;
    /** The hash of the asset's normalised key. */
    asset: string | null;
    /** The item of lists and the feed as JSON, as declared in `listed-items.ts`. */
    item: string | null;
  };
  /** The listed records of each brand, without deleted records, with the columns for filters. */
  brand_records: {
    organization: string;
    kind: number;
    id: string;
    brand: string;
    /**
     * The instant at which the metrics of the brand count the record (ms): the last change of a takedown, otherwise the
     * creation.
     */
    at: number;
    status: string | null;
    type: string | null;
    asset: string | null;
  };
  /** One last-writer-wins row per entry of the status history, including deleted entries. */
  reviewed_entries: {
    change_id: string;
    version: number;
    event_id: string;
    /** All organizations that have or had a verdict from this entry. */
    organizations: string[];
  };
  /**
   * One row per threat of an organization, including deleted threats, written by the projection `records`. `version`,
   * `event_id` and `counts` are of the newest state; `counted_at` and `type` are of the first state that counts.
   */
  counted_threats: {
    organization: string;
    id: string;
    version: number;
    event_id: string;
    /** Whether the newest state counts as a new threat. */
    counts: boolean;
    /** The earliest instant at which any state of the threat counts, in ms. Null: no state counts. */
    counted_at: number | null;
    /** The asset type of that state. */
    type: string | null;
  };
}

export const ROWS_OF_LISTED_RECORDS: RowsByTable<ListedRecordTables> = {
  listed_records: OWN_ROWS,
  brand_records: OWN_ROWS,
  counted_threats: OWN_ROWS,
  reviewed_entries: [
    { where: '$1::text = any(organizations)', set: 'organizations = array_remove(organizations, $1::text)' },
  ],
};
