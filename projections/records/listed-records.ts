import { nullable, statement } from '../../src/postgres/statement.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import { storeNewest } from '../store-newest.js';

/**
 * Stores records and returns the keys of the changed rows. When a record was first stored, and whether it ever counted,
 * does not depend on the order of its states.
 */
export const STORE_RECORDS = storeNewest(
  'records-store',
  'listed_records',
  {
    organization: 'text',
    kind: 'smallint',
    id: 'text',
    version: 'bigint',
    eventId: 'uuid',
    position: 'bigint',
    movedTo: 'bigint',
    movedBy: 'uuid',
    recordedAt: 'bigint',
    createdAt: 'bigint',
    status: 'text',
    type: 'text',
    assetHash: 'uuid',
    item: 'text',
    addedAt: 'bigint',
    firstRecordedAt: 'bigint',
    objectId: 'uuid',
  },
  {
    key: ['organization', 'kind', 'id'],
    names: { recordedAt: 'stored_at', assetHash: 'asset' },
    merged: {
      firstRecordedAt: 'least(t.first_recorded_at, excluded.first_recorded_at)',
      objectId: 'coalesce(t.object_id, excluded.object_id)',
    },
    returning: { organization: 'text', kind: 'smallint', id: 'text', event_id: 'uuid' },
  },
);

export const READ_RECORDING_CLOCK = statement(
  'records-read-clock',
  {},
  { position: 'bigint', recordedAt: 'bigint', addedAt: 'bigint' },
  'select position, recorded_at as "recordedAt", added_at as "addedAt" from recording_clock',
);
export const SET_RECORDING_CLOCK = statement(
  'records-set-clock',
  { position: 'bigint', recordedAt: 'bigint', addedAt: 'bigint' },
  {},
  `
    insert into recording_clock (singleton, position, recorded_at, added_at)
    values (true, :position, :recordedAt, :addedAt)
    on conflict (singleton) do update
    set position = excluded.position, recorded_at = excluded.recorded_at, added_at = excluded.added_at`,
);

/**
 * The `order by` makes the planner scan the primary key; see `READ_VERDICTS`. The other indexes begin with
 * organization, kind and brand, so scanning one of them would read many more index entries.
 */
export const DELETE_BRAND_RECORDS = statement(
  'records-delete-of-brands',
  { organization: 'text[]', kind: 'smallint[]', id: 'text[]' },
  {},
  `
    delete from brand_records b
    using unnest(:organization, :kind, :id) d (organization, kind, id)
    cross join lateral (
      select r.ctid as place from brand_records r
      where (r.organization, r.kind, r.id) >= (d.organization, d.kind, d.id)
        and (r.organization, r.kind, r.id) <= (d.organization, d.kind, d.id)
      order by r.organization, r.kind, r.id, r.brand
    ) of_record
    where b.ctid = of_record.place`,
);

export const INSERT_BRAND_RECORDS = statement(
  'records-insert-of-brands',
  {
    organization: 'text[]',
    kind: 'smallint[]',
    id: 'text[]',
    brand: 'text[]',
    at: 'bigint[]',
    status: 'text[]',
    type: 'text[]',
    assetHash: 'uuid[]',
  },
  {},
  `
    insert into brand_records (organization, kind, id, brand, at, status, type, asset)
    select * from unnest(:organization, :kind, :id, :brand, :at, :status, :type, :assetHash)`,
);

export const READ_REVIEWED_ENTRIES = statement(
  'records-read-entries',
  { changeIds: 'text[]' },
  {
    changeId: 'text',
    version: 'bigint',
    eventId: 'uuid',
    /** All organizations for which this entry is or was a verdict, because it names or named one of their brands. */
    organizations: 'text[]',
    /** Null until the rebuild after the upgrade, and if a projector of an earlier version stored the entry. */
    history: nullable('jsonb'),
  },
  `
    select change_id as "changeId", version, event_id as "eventId", organizations, history
    from reviewed_entries where change_id = any(:changeIds)`,
);

/**
 * Reads verdicts by key. For each key, the query orders the rows by the primary key and takes the first row at or after
 * the key: only the index of the primary key provides that order, so the planner must use it. For a plain equality, the
 * planner may use any index that begins with the organization, and read all verdicts of the organization.
 */
export const READ_VERDICTS = statement(
  'records-read-verdicts',
  { organization: 'text[]', changeId: 'text[]' },
  {
    organization: 'text',
    id: 'text',
    /** Null if the entry was deleted or no longer concerns the organization. */
    item: nullable('text'),
    assetHash: nullable('uuid'),
    version: 'bigint',
    eventId: 'uuid',
    position: 'bigint',
    /** As in `listed_records`; null if it is outdated. */
    movedBy: nullable('uuid'),
    recordedAt: 'bigint',
    addedAt: nullable('bigint'),
    firstRecordedAt: nullable('bigint'),
    objectId: nullable('uuid'),
  },
  `
    select r.organization, r.id, r.item, r.asset as "assetHash", r.version, r.event_id as "eventId", r.position,
      case when r.moved_to = r.position then r.moved_by end as "movedBy", r.stored_at as "recordedAt",
      r.added_at as "addedAt", r.first_recorded_at as "firstRecordedAt", r.object_id as "objectId"
    from unnest(:organization, :changeId) i (organization, id)
    cross join lateral (
      select * from listed_records
      where (organization, kind, id) >= (i.organization, ${LISTED_KIND.verdict}::smallint, i.id)
      order by organization, kind, id limit 1
    ) r
    where r.organization = i.organization and r.kind = ${LISTED_KIND.verdict} and r.id = i.id`,
);

/** Deletes listed records by key, for rows that are no longer listed or are stored again with an earlier state. */
export const DELETE_LISTED = statement(
  'records-delete-listed',
  { organization: 'text[]', kind: 'smallint[]', id: 'text[]' },
  {},
  `
    delete from listed_records r using unnest(:organization, :kind, :id) i (organization, kind, id)
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
);

/** Reads listed records by key, without deleted records. */
export const READ_LISTED = statement(
  'records-read-listed',
  { organization: 'text[]', kind: 'smallint[]', id: 'text[]' },
  { organization: 'text', kind: 'smallint', id: 'text', assetHash: nullable('uuid'), item: 'text', position: 'bigint' },
  `
    select r.organization, r.kind, r.id, r.asset as "assetHash", r.item, r.position
    from (select distinct * from unnest(:organization, :kind, :id) i (organization, kind, id)) i
    join listed_records r using (organization, kind, id)
    where r.item is not null`,
);

export const REDACT_LISTED = statement(
  'records-redact-listed',
  {
    organization: 'text[]',
    kind: 'smallint[]',
    id: 'text[]',
    item: 'text[]',
    position: 'bigint[]',
    movedBy: 'uuid[]',
    recordedAt: 'bigint[]',
    addedAt: 'bigint[]',
  },
  {},
  `
    update listed_records r
    set item = i.item, position = i.position, stored_at = i.stored_at, added_at = i.added_at, asset = null,
      moved_by = i.moved_by, moved_to = case when i.moved_by is not null then i.position end
    from unnest(:organization, :kind, :id, :item, :position, :movedBy, :recordedAt, :addedAt)
      i (organization, kind, id, item, position, moved_by, stored_at, added_at)
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
);

/** The filter by content must not find redacted records. */
export const REDACT_BRAND_RECORDS = statement(
  'records-redact-of-brands',
  { organization: 'text[]', kind: 'smallint[]', id: 'text[]' },
  {},
  `
    update brand_records r set asset = null
    from unnest(:organization, :kind, :id) i (organization, kind, id)
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
);

export const READ_DISPUTES = statement(
  'records-read-disputes',
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
  'records-store-disputes',
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
  {},
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

export const STORE_REVIEWED_ENTRIES = storeNewest(
  'records-store-entries',
  'reviewed_entries',
  { changeId: 'text', version: 'bigint', eventId: 'uuid', organizations: 'text[]', history: 'jsonb' },
  {
    key: ['changeId'],
    // An older state does not change the version, but it may change the history.
    merged: { organizations: 'excluded.organizations', history: 'excluded.history' },
  },
);
