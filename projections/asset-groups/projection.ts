import { sql, type Transaction } from 'kysely';
import { IDEMPOTENCY_TTL_MS } from '../../src/events/asset-groups.js';
import type { Tables } from '../../src/read-models/tables.js';
import {
  type Answer,
  type Group,
  type GroupedAsset,
  type GroupEvent,
  NewestGroups,
  type Stream,
  TYPES,
} from './fold.js';
import type { Projection } from '../engine/projection.js';

/** One column of rows, as the parameter of an `unnest`. */
const column = <Row>(rows: readonly Row[], value: (row: Row) => string | number | bigint | null): (string | null)[] =>
  rows.map((row) => {
    const cell = value(row);
    return cell === null ? null : String(cell);
  });

/** Every organization of the batch, so that a change of any of its rows changes its row here too. */
const writeStreams = async (tx: Transaction<Tables>, rows: readonly Stream[]): Promise<void> => {
  await sql`
    insert into asset_group_streams as s (organization, revision, last_group_id, latest_at)
    select * from unnest(
      ${column(rows, (row) => row.organization)}::text[], ${column(rows, (row) => row.revision)}::bigint[],
      ${column(rows, (row) => row.lastGroupId)}::bigint[], ${column(rows, (row) => row.latestAt)}::bigint[])
    on conflict (organization) do update set
      revision = greatest(s.revision, excluded.revision),
      last_group_id = greatest(s.last_group_id, excluded.last_group_id),
      latest_at = greatest(s.latest_at, excluded.latest_at)`.execute(tx);
};

const writeGroups = async (tx: Transaction<Tables>, rows: readonly Group[]): Promise<void> => {
  await sql`
    insert into asset_groups as g (organization, group_id, name, revision)
    select * from unnest(
      ${column(rows, (row) => row.organization)}::text[], ${column(rows, (row) => row.groupId)}::bigint[],
      ${column(rows, (row) => row.name)}::text[], ${column(rows, (row) => row.revision)}::bigint[])
    on conflict (organization, group_id) do update set name = excluded.name, revision = excluded.revision
    where g.revision < excluded.revision`.execute(tx);
};

const writeAnswers = async (tx: Transaction<Tables>, rows: readonly Answer[]): Promise<void> => {
  await sql`
    insert into asset_group_requests as r (organization, key_hash, body_hash, group_id, answered_at, revision)
    select * from unnest(
      ${column(rows, (row) => row.organization)}::text[], ${column(rows, (row) => row.idempotencyKeyHash)}::text[],
      ${column(rows, (row) => row.bodyHash)}::text[], ${column(rows, (row) => row.groupId)}::bigint[],
      ${column(rows, (row) => row.answeredAt)}::bigint[], ${column(rows, (row) => row.revision)}::bigint[])
    on conflict (organization, key_hash) do update set
      body_hash = excluded.body_hash, group_id = excluded.group_id,
      answered_at = excluded.answered_at, revision = excluded.revision
    where r.revision < excluded.revision`.execute(tx);
};

/** Forgets by the time of the events, not by the clock, so that a rebuild forgets the same answers. */
const forgetAnswers = async (tx: Transaction<Tables>, organizations: readonly string[]): Promise<void> => {
  await sql`
    delete from asset_group_requests r using asset_group_streams s
    where s.organization = any(${organizations}::text[]) and r.organization = s.organization
      and r.answered_at <= s.latest_at - ${IDEMPOTENCY_TTL_MS}::bigint`.execute(tx);
};

/** Moves assets, and brings the differences into the counts; a group that does not exist (yet) is counted all the same. */
const writeAssets = async (tx: Transaction<Tables>, rows: readonly GroupedAsset[]): Promise<void> => {
  await sql`
    with incoming as materialized (
      select * from unnest(
        ${column(rows, (row) => row.organization)}::text[], ${column(rows, (row) => row.asset)}::text[],
        ${column(rows, (row) => row.groupId)}::bigint[], ${column(rows, (row) => row.version)}::bigint[],
        ${column(rows, (row) => row.eventId)}::uuid[], ${column(rows, (row) => row.type)}::text[],
        ${column(rows, (row) => row.content)}::text[])
        as i (organization, asset, group_id, version, event_id, type, content)
    ), old as materialized (
      select a.organization, a.asset, a.group_id from incoming i join grouped_assets a using (organization, asset)
    ), moved as (
      insert into grouped_assets as a (organization, asset, group_id, version, event_id, type, content)
      select organization, asset, group_id, version, event_id, type, content from incoming
      on conflict (organization, asset) do update set
        group_id = excluded.group_id, version = excluded.version, event_id = excluded.event_id,
        type = excluded.type, content = excluded.content
      where (a.version, a.event_id) < (excluded.version, excluded.event_id)
      returning a.organization, a.asset, a.group_id
    ), difference as (
      select organization, group_id, sum(n)::bigint as n
      from (
        select organization, group_id, 1 as n from moved
        union all
        select o.organization, o.group_id, -1 from old o join moved using (organization, asset)
      ) changes
      where group_id is not null
      group by organization, group_id
      having sum(n) <> 0
    )
    merge into asset_group_counts c
    using difference d on c.organization = d.organization and c.group_id = d.group_id
    when matched and c.n + d.n = 0 then delete
    when matched then update set n = c.n + d.n
    when not matched then insert (organization, group_id, n) values (d.organization, d.group_id, d.n)`.execute(tx);
};

/**
 * The groups of each organization, how many assets are in each, and the answers to requests with an
 * `Idempotency-Key`. A deleted group keeps its assets and their number, which nobody shows: numbers are never given
 * twice, so no event can bring them back on another group.
 */
export const assetGroups: Projection<GroupEvent> = {
  name: 'asset-groups',
  tables: ['asset_group_streams', 'asset_groups', 'asset_group_requests', 'grouped_assets', 'asset_group_counts'],
  types: TYPES,
  write: async (events, { tx }) => {
    const newest = new NewestGroups();
    for (const event of events) newest.add(event);
    const organizations = [...newest.streams.keys()];
    if (organizations.length > 0) await writeStreams(tx, [...newest.streams.values()]);
    if (newest.groups.size > 0) await writeGroups(tx, [...newest.groups.values()]);
    if (newest.answers.size > 0) await writeAnswers(tx, [...newest.answers.values()]);
    if (newest.groups.size + newest.answers.size > 0) await forgetAnswers(tx, organizations);
    if (newest.assets.size > 0) await writeAssets(tx, [...newest.assets.values()]);
  },
};
