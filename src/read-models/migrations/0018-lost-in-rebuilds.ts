import { sql, type Kysely } from 'kysely';

/** Storage parameters of the tables that projections write. */
const OPTIONS: Readonly<Record<string, string>> = {
  asset_group_counts: 'fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02',
  asset_group_streams: 'fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02',
  asset_status_entries: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  asset_statuses: 'autovacuum_vacuum_scale_factor = 0.02',
  brand_records: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  days: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  facts: 'autovacuum_vacuum_scale_factor = 0.02',
  grouped_assets: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  listed_records: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  records: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  reviewed_entries: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  takedowns: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
  type_days: 'fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02',
};

/** Table, name and definition, as PostgreSQL writes it, of their indexes besides the primary keys. */
const INDEXES: readonly (readonly [table: string, name: string, definition: string])[] = [
  ['asset_group_requests', 'asset_group_requests_by_age', '(organization, answered_at)'],
  ['asset_groups', 'asset_groups_by_name', '(organization, name) WHERE (name IS NOT NULL)'],
  ['asset_status_entries', 'asset_status_entries_newest', '(asset_hash, version DESC, event_id DESC)'],
  ['asset_statuses', 'asset_statuses_changes', '("position", asset_hash)'],
  [
    'brand_records',
    'brand_records_by_asset',
    '(organization, kind, brand, asset, ((- at)), id) WHERE (asset IS NOT NULL)',
  ],
  [
    'brand_records',
    'brand_records_by_status',
    '(organization, kind, brand, status, ((- at)), id) WHERE (status IS NOT NULL)',
  ],
  [
    'brand_records',
    'brand_records_by_status_and_type',
    '(organization, kind, brand, status, type, ((- at)), id) WHERE ((status IS NOT NULL) AND (type IS NOT NULL))',
  ],
  [
    'brand_records',
    'brand_records_by_type',
    '(organization, kind, brand, type, ((- at)), id) WHERE (type IS NOT NULL)',
  ],
  ['brand_records', 'brand_records_newest', '(organization, kind, brand, ((- at)), id)'],
  ['grouped_assets', 'grouped_assets_members', '(organization, group_id, asset) WHERE (group_id IS NOT NULL)'],
  [
    'listed_records',
    'listed_records_by_asset',
    '(organization, kind, asset, ((- created_at)), id) WHERE (asset IS NOT NULL)',
  ],
  [
    'listed_records',
    'listed_records_by_status',
    '(organization, kind, status, ((- created_at)), id) WHERE (status IS NOT NULL)',
  ],
  [
    'listed_records',
    'listed_records_by_status_and_type',
    '(organization, kind, status, type, ((- created_at)), id) WHERE ((status IS NOT NULL) AND (type IS NOT NULL))',
  ],
  [
    'listed_records',
    'listed_records_by_type',
    '(organization, kind, type, ((- created_at)), id) WHERE (type IS NOT NULL)',
  ],
  ['listed_records', 'listed_records_feed', '(organization, kind, "position")'],
  [
    'listed_records',
    'listed_records_newest',
    '(organization, kind, ((- created_at)), id) WHERE (created_at IS NOT NULL)',
  ],
  ['takedowns', 'takedowns_completed', '(organization, type, took) INCLUDE (updated_at) WHERE (outcome = 1)'],
  [
    'takedowns',
    'takedowns_of_brand',
    `(organization, brand, updated_at) INCLUDE (outcome, type, took) WHERE ((brand <> ''::text) AND (outcome IS NOT NULL))`,
  ],
  [
    'takedowns',
    'takedowns_withdrawn',
    '(organization, created_at) INCLUDE (outcome) WHERE (outcome = ANY (ARRAY[2, 3]))',
  ],
  [
    'webhook_endpoints',
    'webhook_endpoints_by_request',
    '(organization, request_key_hash) WHERE (request_key_hash IS NOT NULL)',
  ],
  ['webhook_endpoints', 'webhook_endpoints_by_revision', '(organization, revision)'],
  ['webhook_endpoints', 'webhook_endpoints_living', `(organization, id) WHERE (state <> 'DELETED'::text)`],
];

/**
 * A rebuild of an earlier version left its tables without their storage parameters, and their indexes with names that no
 * migration knows. Other parameters are the operator's, and stay.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const [table, options] of Object.entries(OPTIONS)) {
    const { rows } = await sql`
      select from pg_class
      where oid = to_regclass(${`read.${table}`}) and reloptions is null`.execute(db);
    if (rows.length > 0) await sql`alter table ${sql.id('read', table)} set (${sql.raw(options)})`.execute(db);
  }
  for (const [table, name, definition] of INDEXES) {
    const { rows } = await sql<{ lost: string }>`
      select c.relname as lost from pg_index x join pg_class c on c.oid = x.indexrelid
      where x.indrelid = to_regclass(${`read.${table}`}) and to_regclass(${`read.${name}`}) is null
        and pg_get_indexdef(x.indexrelid) like '% USING btree ' || replace(${definition}::text, '_', '\\_')
      limit 1`.execute(db);
    for (const { lost } of rows) await sql`alter index ${sql.id('read', lost)} rename to ${sql.id(name)}`.execute(db);
  }
};
