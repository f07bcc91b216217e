import { OWN_ROWS, type RowsByTable } from '../erasures/organization-rows.js';

/** Asset groups and their assets. */
export interface AssetGroupTables {
  /** The progress of the projection for each organization. */
  asset_group_streams: {
    organization: string;
    /**
     * Last applied revision of the stream `assetGroups-{organization}`; -1 if only events about assets were applied.
     */
    revision: number;
    /** The highest group id ever assigned, including deleted groups. */
    last_group_id: number;
    /** The latest instant of an event of the stream (ms). Responses to older idempotent requests are deleted. */
    latest_at: number;
  };
  /** One last-writer-wins row per group, including deleted groups. */
  asset_groups: {
    organization: string;
    group_id: number;
    /** Null: the group is deleted. */
    name: string | null;
    revision: number;
  };
  /** The first response to each request with an `Idempotency-Key`. */
  asset_group_requests: {
    organization: string;
    key_hash: string;
    body_hash: string;
    /** The group that was created. Null: the request was rejected because the name was taken. */
    group_id: number | null;
    /** ms */
    answered_at: number;
    revision: number;
  };
  /** One last-writer-wins row per asset: the group that its newest event names, even if that group does not exist. */
  grouped_assets: {
    organization: string;
    /** The hash of the asset's normalised key. */
    asset: string;
    /** Null: the asset is in no group. */
    group_id: number | null;
    version: number;
    event_id: string;
    /**
     * The asset type as reported. Null: the asset is in no group, or the row was stored by a version without this
     * column and the next column.
     */
    type: string | null;
    content: string | null;
  };
  /** How many assets are in a group. An empty group has no row. */
  asset_group_counts: {
    organization: string;
    group_id: number;
    n: number;
  };
}

export const ROWS_OF_ASSET_GROUPS: RowsByTable<AssetGroupTables> = {
  asset_group_streams: OWN_ROWS,
  asset_groups: OWN_ROWS,
  asset_group_requests: OWN_ROWS,
  grouped_assets: OWN_ROWS,
  asset_group_counts: OWN_ROWS,
};
