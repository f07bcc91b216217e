/** The own statuses of assets, and the entries that decide them. */
export interface AssetStatusTables {
  /** The status history: each entry in its newest state, deleted ones included. */
  asset_status_entries: {
    change_id: string;
    asset_hash: string;
    /** The normalised key. */
    asset: string;
    /** As it was reported. Null: a row older than this column; a rebuild fills it. */
    content: string | null;
    /** Null: deleted for good. */
    status: string | null;
    version: number;
    event_id: string;
    /** `organization:brand` of each review. Null: deleted, or a row of before this column, of which the log says it. */
    reviews: string[] | null;
  };
  /** The current status of each asset ever named. Rows are never deleted, so that followers see every change. */
  asset_statuses: {
    asset_hash: string;
    /** The normalised key. */
    asset: string;
    /** As the deciding entry reported it. Null: no entry decides, or a row older than this column. */
    content: string | null;
    status: string;
    /** ms, of the entry that decides; null if none does. */
    created_at: number | null;
    /** In the log, of the last event that concerned the asset. */
    position: number;
  };
}
