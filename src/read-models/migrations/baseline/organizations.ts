/** Tables of the brands, feature flags and webhook endpoints. */
export const ORGANIZATION_TABLES: readonly string[] = [
  `create table read.brands (
    organization text collate "C" not null,
    brand text collate "C" not null,
    name text,
    registered boolean not null,
    version bigint not null,
    event_id uuid not null,
    primary key (organization, brand)
  )`,
  `create table read.feature_flags (
    organization text collate "C" not null,
    flag text collate "C" not null,
    enabled boolean not null,
    version bigint not null,
    event_id uuid not null,
    primary key (organization, flag)
  )`,
  `create table read.webhook_endpoints (
    organization text collate "C" not null,
    id text collate "C" not null,
    state text collate "C" not null,
    created_at bigint not null,
    request_key_hash text collate "C",
    revision bigint not null,
    endpoint jsonb not null,
    primary key (organization, id)
  )`,
  `create index webhook_endpoints_living on read.webhook_endpoints (organization, id) where state <> 'DELETED'`,
  `create index webhook_endpoints_by_revision on read.webhook_endpoints (organization, revision)`,
  `create index webhook_endpoints_by_request on read.webhook_endpoints (organization, request_key_hash)
    where request_key_hash is not null`,
];
