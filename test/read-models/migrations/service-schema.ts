/** The tables that `0020-service-schema` moves. */
export const SERVICE_TABLES = [
  'webhook_progress',
  'webhook_attempts',
  'webhook_outcomes',
  'webhook_tests',
  'ingest_usage',
  'event_usage',
  'rejections',
  'rejected_events',
  'key_uses',
] as const;

/** Makes of the tables of this version those of the version before the schema `service`. */
export const UNDO_SERVICE_SCHEMA = [
  ...SERVICE_TABLES.map((table) => `drop view if exists read.${table}; alter table service.${table} set schema read`),
  'drop schema service',
  `delete from read.later_migrations where name = '0020-service-schema'`,
].join('; ');
