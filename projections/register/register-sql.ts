import { nullable, statement } from '../../src/postgres/statement.js';
import { storeNewest } from '../store-newest.js';

const ROW = {
  record: 'uuid[]',
  organization: 'text[]',
  kind: 'smallint[]',
  id: 'text[]',
  version: 'bigint[]',
  eventId: 'uuid[]',
  position: 'bigint[]',
  movedBy: 'uuid[]',
  recordedAt: 'bigint[]',
  addedAt: 'bigint[]',
  firstAddedAt: 'bigint[]',
  hasCounted: 'boolean[]',
  createdAt: 'bigint[]',
  status: 'text[]',
  type: 'text[]',
  assetHash: 'uuid[]',
  content: 'text[]',
  /** For each row, a PostgreSQL array literal in a text, or null. */
  brands: 'text[]',
  item: 'text[]',
  expiresAt: 'bigint[]',
} as const;
const VALUES = `unnest(${Object.keys(ROW)
  .map((name) => `:${name}`)
  .join(', ')})`;
const COLUMNS =
  `record organization kind id version event_id position moved_by stored_at added_at first_added_at has_counted
  created_at status type asset content brands item expires_at`.split(/\s+/);
const valueOf = (column: string): string => (column === 'brands' ? 'i.brands::text[]' : `i.${column}`);
const KEY: readonly string[] = ['record', 'organization', 'kind', 'id'];

/** Inserts new records, and returns what is stored of known records. */
export const ENTER_RECORDS = statement(
  'register-enter',
  ROW,
  {
    ordinal: 'bigint',
    version: 'bigint',
    eventId: 'uuid',
    firstAddedAt: nullable('bigint'),
    hasCounted: 'boolean',
  },
  `
    with given as materialized (
      select i.*, r.version as known_version, r.event_id as known_event_id, r.first_added_at as known_first_added_at,
        r.has_counted as known_has_counted
      from ${VALUES} with ordinality i (${COLUMNS.join(', ')}, ordinal)
        left join lateral (
          select r.version, r.event_id, r.first_added_at, r.has_counted from register r where r.record = i.record limit 1
        ) r on true
    ), entered as (
      insert into register (${COLUMNS.join(', ')})
      select ${COLUMNS.map(valueOf).join(', ')} from given i where known_version is null
    )
    select ordinal, known_version as version, known_event_id as "eventId", known_first_added_at as "firstAddedAt",
      known_has_counted as "hasCounted"
    from given where known_version is not null`,
);

/** Replaces the states of known records. */
export const UPDATE_RECORDS = statement(
  'register-update',
  ROW,
  `
    update register r set ${COLUMNS.filter((column) => !KEY.includes(column))
      .map((column) => `${column} = ${valueOf(column)}`)
      .join(', ')}
    from ${VALUES} i (${COLUMNS.join(', ')})
    where r.record = i.record`,
);

/** Changes what does not depend on the order of a record's states. */
export const UPDATE_FIRST = statement(
  'register-update-first',
  { record: 'uuid[]', firstAddedAt: 'bigint[]', hasCounted: 'boolean[]' },
  `
    update register r set first_added_at = i.first_added_at, has_counted = i.has_counted
    from unnest(:record, :firstAddedAt, :hasCounted) i (record, first_added_at, has_counted)
    where r.record = i.record`,
);

/** Deletes records, to store them again with an earlier state. */
export const DELETE_RECORDS = statement(
  'register-delete',
  { record: 'uuid[]' },
  'delete from register where record = any(:record)',
);

export const DELETE_BRANDS = statement(
  'register-delete-brands',
  { record: 'uuid[]' },
  'delete from register_brands where record = any(:record)',
);

export const INSERT_BRANDS = statement(
  'register-insert-brands',
  {
    record: 'uuid[]',
    organization: 'text[]',
    kind: 'smallint[]',
    id: 'text[]',
    brand: 'text[]',
    at: 'bigint[]',
    status: 'text[]',
    type: 'text[]',
    assetHash: 'uuid[]',
  },
  `
    insert into register_brands (record, organization, kind, id, brand, at, status, type, asset)
    select * from unnest(:record, :organization, :kind, :id, :brand, :at, :status, :type, :assetHash)`,
);

/** Reads what redactions and verdicts need of records. The columns of a deleted record are null from `createdAt` on. */
export const READ_RECORDS = statement(
  'register-read',
  { record: 'uuid[]' },
  {
    record: 'uuid',
    position: 'bigint',
    createdAt: nullable('bigint'),
    status: nullable('text'),
    type: nullable('text'),
    assetHash: nullable('uuid'),
    content: nullable('text'),
    brands: nullable('text[]'),
    expiresAt: nullable('bigint'),
  },
  `
    select record, position, created_at as "createdAt", status, type, asset as "assetHash", content, brands,
      expires_at as "expiresAt"
    from register where record = any(:record)`,
);

/** Moves records to the place of a redaction. */
export const REDACT_RECORDS = statement(
  'register-redact',
  {
    record: 'uuid[]',
    position: 'bigint[]',
    movedBy: 'uuid[]',
    recordedAt: 'bigint[]',
    addedAt: 'bigint[]',
    content: 'text[]',
    item: 'text[]',
  },
  `
    update register r
    set position = i.position, moved_by = i.moved_by, stored_at = i.stored_at, added_at = i.added_at, asset = null,
      content = i.content, item = i.item
    from unnest(:record, :position, :movedBy, :recordedAt, :addedAt, :content, :item)
      i (record, position, moved_by, stored_at, added_at, content, item)
    where r.record = i.record`,
);

/** The filter by content must not find redacted records. */
export const REDACT_BRANDS = statement(
  'register-redact-brands',
  { record: 'uuid[]' },
  'update register_brands set asset = null where record = any(:record)',
);

export const READ_ENTRIES = statement(
  'register-read-entries',
  { changeIds: 'text[]' },
  {
    changeId: 'text',
    version: 'bigint',
    eventId: 'uuid',
    organizations: 'text[]',
    position: nullable('bigint'),
    recordedAt: nullable('bigint'),
    addedAt: nullable('bigint'),
    history: nullable('jsonb'),
  },
  `
    select change_id as "changeId", version, event_id as "eventId", organizations, position, stored_at as "recordedAt",
      added_at as "addedAt", history
    from entries where change_id = any(:changeIds)`,
);

export const STORE_ENTRIES = storeNewest(
  'register-store-entries',
  'entries',
  {
    changeId: 'text',
    version: 'bigint',
    eventId: 'uuid',
    organizations: 'text[]',
    position: 'bigint',
    recordedAt: 'bigint',
    addedAt: 'bigint',
    history: 'jsonb',
  },
  {
    key: ['changeId'],
    names: { recordedAt: 'stored_at' },
    // An older state does not change the version, but it may change the history.
    merged: {
      organizations: 'excluded.organizations',
      position: 'excluded.position',
      recordedAt: 'excluded.stored_at',
      addedAt: 'excluded.added_at',
      history: 'excluded.history',
    },
  },
);

export const READ_REGISTER_CLOCK = statement(
  'register-read-clock',
  {},
  { position: 'bigint', recordedAt: 'bigint', addedAt: 'bigint' },
  'select position, recorded_at as "recordedAt", added_at as "addedAt" from register_clock',
);
export const SET_REGISTER_CLOCK = statement(
  'register-set-clock',
  { position: 'bigint', recordedAt: 'bigint', addedAt: 'bigint' },
  `
    insert into register_clock (singleton, position, recorded_at, added_at)
    values (true, :position, :recordedAt, :addedAt)
    on conflict (singleton) do update
    set position = excluded.position, recorded_at = excluded.recorded_at, added_at = excluded.added_at`,
);

export const READ_DISPUTES = statement(
  'register-read-disputes',
  { organization: 'text[]', id: 'text[]' },
  {
    organization: 'text',
    id: 'text',
    assetHash: nullable('uuid'),
    revision: nullable('bigint'),
    filed: nullable('text'),
    resolution: nullable('text'),
    redaction: nullable('text'),
  },
  `
    select organization, id, asset as "assetHash", revision, filed, resolution, redaction from disputes
    where (organization, id) in (select * from unnest(:organization, :id))`,
);

/** Replaces disputes. Only the projector writes, so nothing has changed since it read them in the same transaction. */
export const STORE_DISPUTES = statement(
  'register-store-disputes',
  {
    organization: 'text[]',
    id: 'text[]',
    assetHash: 'uuid[]',
    createdAt: 'bigint[]',
    resolvedAt: 'bigint[]',
    outcome: 'text[]',
    requestKeyHash: 'text[]',
    revision: 'bigint[]',
    filed: 'text[]',
    resolution: 'text[]',
    redaction: 'text[]',
  },
  `
    insert into disputes
      (organization, id, asset, created_at, resolved_at, outcome, request_key_hash, revision, filed, resolution,
        redaction)
    select * from unnest(:organization, :id, :assetHash, :createdAt, :resolvedAt, :outcome, :requestKeyHash,
      :revision, :filed, :resolution, :redaction)
    on conflict (organization, id) do update set asset = excluded.asset, created_at = excluded.created_at,
      resolved_at = excluded.resolved_at, outcome = excluded.outcome, request_key_hash = excluded.request_key_hash,
      revision = excluded.revision, filed = excluded.filed, resolution = excluded.resolution,
      redaction = excluded.redaction`,
);
