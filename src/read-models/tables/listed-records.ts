/** What lists and the feed show. */
export interface ListedRecordTables {
  /**
   * One row per record and organization that it concerns, deleted ones included: the newest state, for lists and the
   * feed. Reports, threats and takedowns are last-writer-wins rows; verdicts follow `reviewed_entries`.
   */
  listed_records: {
    organization: string;
    /** As in `kinds.ts`. */
    kind: number;
    id: string;
    version: number;
    event_id: string;
    /** In the log, of the event that made this state: the order of the feed. */
    position: number;
    /** When the log took that event. ms */
    stored_at: number;
    /** ms; null: deleted, or no longer this organization's business. So are all of the following. */
    created_at: number | null;
    /** Reports have neither status nor asset. */
    status: string | null;
    type: string | null;
    /** The hash of the asset's normalised key. */
    asset: string | null;
    /** The JSON that is shown, as `kinds.ts` declares it. */
    item: string | null;
  };
  /** The undeleted listed records of each brand, with what they are filtered by. */
  brand_records: {
    organization: string;
    kind: number;
    id: string;
    brand: string;
    /** What the metrics date it by, ms: a takedown's last change, otherwise the creation. */
    at: number;
    status: string | null;
    type: string | null;
    asset: string | null;
  };
  /** One last-writer-wins row per entry of the status history, deleted ones included. */
  reviewed_entries: {
    change_id: string;
    version: number;
    event_id: string;
    /** All whose verdict it is or was. */
    organizations: string[];
  };
}
