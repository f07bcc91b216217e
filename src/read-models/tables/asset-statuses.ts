import type { RowsByTable } from '../organization-rows.js';

/** The statuses of assets, and the entries of the status history that determine the statuses. */
export interface AssetStatusTables {
  /** The status history: each entry in its newest state, including deleted entries. */
  asset_status_entries: {
    change_id: string;
    asset_hash: string;
    /** The normalised key. */
    asset: string;
    /**
     * The content of the asset as reported. Null: the row was written before this column existed; a rebuild fills the
     * column.
     */
    content: string | null;
    /** Null: the entry is deleted. */
    status: string | null;
    version: number;
    event_id: string;
    /**
     * `organization:brand` of each review. Null: the entry is deleted, or the row was written before this column
     * existed.
     */
    reviews: string[] | null;
    /** From when on the entry does not determine the status any more (ms). Null: never. */
    expires_at: number | null;
  };
  /**
   * The newest status of each asset, even if it has expired. Rows are never deleted, so that processes that poll by
   * position see every change.
   */
  asset_statuses: {
    asset_hash: string;
    /** The normalised key. */
    asset: string;
    /**
     * The content of the asset as reported by the entry that determines the status. Null: there is no such entry, or
     * the row was written before this column existed.
     */
    content: string | null;
    status: string;
    /** When the entry that determines the status was created (ms). Null: there is no such entry. */
    created_at: number | null;
    /** Position in the log of the last event about the asset. */
    position: number;
    /** From when on the entry does not determine the status any more (ms). Null: never. */
    expires_at: number | null;
    /**
     * The entries that determine the status after each other from `expires_at` on, as `Follower` in
     * `status-record.ts`. Null: none.
     */
    followers: unknown;
  };
}

export const ROWS_OF_ASSET_STATUSES: RowsByTable<AssetStatusTables> = {
  asset_status_entries: [
    {
      where: `exists (select from unnest(reviews) review where split_part(review, ':', 1) = :organization)`,
      set: `reviews = array(
        select review from unnest(reviews) with ordinality r (review, n)
        where split_part(review, ':', 1) <> :organization order by n
      )`,
    },
  ],
  asset_statuses: [],
};
