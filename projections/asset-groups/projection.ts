import type { PoolClient } from 'pg';
import { IDEMPOTENCY_TTL_MS } from '../../src/events/asset-groups.js';
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
import { FORGET_ANSWERS, STORE_ANSWERS, STORE_ASSETS, STORE_GROUPS, STORE_STREAMS } from './statements.js';

/** One column of rows, as the parameter of an `unnest`. */
const column = <Row>(rows: readonly Row[], value: (row: Row) => string | number | bigint | null): (string | null)[] =>
  rows.map((row) => {
    const cell = value(row);
    return cell === null ? null : String(cell);
  });

/** Every organization of the batch, so that a change of any of its rows changes its row here too. */
const writeStreams = async (connection: PoolClient, rows: readonly Stream[]): Promise<void> => {
  await connection.query({
    ...STORE_STREAMS,
    values: [
      column(rows, (row) => row.organization),
      column(rows, (row) => row.revision),
      column(rows, (row) => row.lastGroupId),
      column(rows, (row) => row.latestAt),
    ],
  });
};

const writeGroups = async (connection: PoolClient, rows: readonly Group[]): Promise<void> => {
  await connection.query({
    ...STORE_GROUPS,
    values: [
      column(rows, (row) => row.organization),
      column(rows, (row) => row.groupId),
      column(rows, (row) => row.name),
      column(rows, (row) => row.revision),
    ],
  });
};

const writeAnswers = async (connection: PoolClient, rows: readonly Answer[]): Promise<void> => {
  await connection.query({
    ...STORE_ANSWERS,
    values: [
      column(rows, (row) => row.organization),
      column(rows, (row) => row.idempotencyKeyHash),
      column(rows, (row) => row.bodyHash),
      column(rows, (row) => row.groupId),
      column(rows, (row) => row.answeredAt),
      column(rows, (row) => row.revision),
    ],
  });
};

/** Forgets by the time of the events, not by the clock, so that a rebuild forgets the same answers. */
const forgetAnswers = async (connection: PoolClient, organizations: readonly string[]): Promise<void> => {
  await connection.query({
    ...FORGET_ANSWERS,
    values: [organizations, IDEMPOTENCY_TTL_MS],
  });
};

/** Moves assets, and brings the differences into the counts; a group that does not exist (yet) is counted all the same. */
const writeAssets = async (connection: PoolClient, rows: readonly GroupedAsset[]): Promise<void> => {
  await connection.query({
    ...STORE_ASSETS,
    values: [
      column(rows, (row) => row.organization),
      column(rows, (row) => row.asset),
      column(rows, (row) => row.groupId),
      column(rows, (row) => row.version),
      column(rows, (row) => row.eventId),
      column(rows, (row) => row.type),
      column(rows, (row) => row.content),
    ],
  });
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
  write: async (events, { connection }) => {
    const newest = new NewestGroups();
    for (const event of events) newest.add(event);
    const organizations = [...newest.streams.keys()];
    if (organizations.length > 0) await writeStreams(connection, [...newest.streams.values()]);
    if (newest.groups.size > 0) await writeGroups(connection, [...newest.groups.values()]);
    if (newest.answers.size > 0) await writeAnswers(connection, [...newest.answers.values()]);
    if (newest.groups.size + newest.answers.size > 0) await forgetAnswers(connection, organizations);
    if (newest.assets.size > 0) await writeAssets(connection, [...newest.assets.values()]);
  },
};
