import type { Pool, PoolClient } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import type { OrganizationToErase } from '../../event-log/rewriting/log-eraser.js';
import { COUNT_EVENTS, NAMES_OF_ORGANIZATION } from '../../event-log/postgres/erasure-sql.js';
import { forEachBatch } from '../../event-log/postgres/batches.js';
import { erasureDigest } from '../../events/erasure.js';
import { READ_ERASED_NAMES, ROW_STEPS } from '../../read-models/erasures/statements.js';
import type { Connection } from '../../postgres/statement.js';
import type { Session } from '../runtime/session.js';
import type { Subject } from './subject.js';

/** By event type or by table. */
export type Counts = Readonly<Record<string, number>>;

/** What the log and the tables have of an organization. */
export interface Found {
  readonly events: Counts;
  readonly rows: Counts;
}

export interface ErasureProgress {
  readonly phase: 'events' | 'rows';
  readonly done: number;
  /** From 0 to 1; undefined if the total is unknown. */
  readonly fraction: number | undefined;
}

export const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, n) => sum + n, 0);
export const isEmpty = ({ events, rows }: Found): boolean => sumOf(events) + sumOf(rows) === 0;

/** Counts the events and the rows of an organization. Changes nothing. */
export const findOrganization = async (
  { pool, log }: Session,
  subject: Subject,
  onProgress: (progress: ErasureProgress) => void = () => {},
): Promise<Found> => {
  const { organization } = subject;
  const to = Number(await log.head()) + 1;
  const report = (done: number): void => onProgress({ phase: 'events', done, fraction: Math.min(1, done / to) });
  if (log.eraser !== undefined) {
    const target = await targetOf(pool, log, subject);
    const found = await log.eraser.find(target, (position) => report(Number(position)));
    return { events: found, rows: await countRows({ pool, log }, organization) };
  }
  const events: Record<string, number> = {};
  const count = async (connection: PoolClient, from: number, next: number): Promise<void> => {
    for (const { type, events: n } of await COUNT_EVENTS.run(connection, { organization, from, to: next }))
      events[type] = (events[type] ?? 0) + n;
  };
  await forEachBatch(pool, { from: 0, to }, count, report);
  return { events, rows: await countRows({ pool, log }, organization) };
};

/** The keys of the organization are known by their digests once the events that name them have been erased. */
export const targetOf = async (
  pool: Pool,
  log: EventLog,
  { organization, logId }: Subject,
): Promise<OrganizationToErase> => {
  const digests = new Set((await READ_ERASED_NAMES.run(pool, { logId })).map(({ digest }) => digest));
  const names = new Set(await log.eraser!.names(organization));
  return { organization, isKey: (keyId) => names.has(keyId) || digests.has(erasureDigest(logId, keyId)) };
};

/** The keys and webhook endpoints of an organization, which name rows of the service. */
export const namesOf = async (log: EventLog, connection: Connection, organization: string): Promise<string[]> =>
  log.eraser === undefined
    ? (await NAMES_OF_ORGANIZATION.run(connection, { organization })).map(({ name }) => name)
    : log.eraser.names(organization);

/** Counts the rows that `eraseRows` would erase, whether the erasure has begun or not. */
export const countRows = async ({ pool, log }: Session, organization: string): Promise<Counts> => {
  const names = await namesOf(log, pool, organization);
  const rows: Record<string, number> = {};
  for (const { table, count } of ROW_STEPS) {
    const [row] = await count.run(pool, { organization, names });
    if (row!.rows > 0) rows[table] = (rows[table] ?? 0) + row!.rows;
  }
  return rows;
};
