import type { Pool, PoolClient } from 'pg';
import { BEGINNING } from '../../event-log/event-log.js';
import type { LogEraser } from '../../event-log/rewriting/log-eraser.js';
import { OPERATIONS_LENGTH, REWRITE_EVENTS, REWRITE_REASONS } from '../../event-log/postgres/erasure-sql.js';
import { forEachBatch } from '../../event-log/postgres/batches.js';
import { pause } from '../../flow/retry.js';
import { databaseTime } from '../../postgres/clock.js';
import { READ_ERASURE } from '../../read-models/erasures/statements.js';
import type { Session } from '../runtime/session.js';
import { type ErasureProgress, targetOf } from './find-organization.js';
import { recordBatch } from './record-batch.js';
import type { Subject } from './subject.js';

/**
 * How long after the start the first row is deleted. All instances know of the erasure by then, and have stored the
 * rejected events of others that name the organization.
 */
export const SETTLE_MS = 2_500;

export const readErasure = async (pool: Pool, digest: string) => (await READ_ERASURE.run(pool, { digest }))[0]!;

export const rewriteEvents = async (
  pool: Pool,
  { organization, digest }: Subject,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const { next: from, position } = await readErasure(pool, digest);
  const rewrite = async (connection: PoolClient, first: number, next: number): Promise<void> => {
    const rewritten = await REWRITE_EVENTS.run(connection, { organization, from: first, to: next });
    await recordBatch(connection, digest, {
      next,
      events: Object.fromEntries(rewritten.map(({ type, events }) => [type, events])),
      ...(rewritten.length > 0 && {
        first: Math.min(...rewritten.map((each) => each.first)),
        last: Math.max(...rewritten.map((each) => each.last)),
      }),
    });
  };
  await forEachBatch(pool, { from, to: position }, rewrite, (done) =>
    onProgress({ phase: 'events', done, fraction: done / position }),
  );
  const [operations] = await OPERATIONS_LENGTH.run(pool, {});
  await forEachBatch(pool, { from: 0, to: operations!.length }, async (connection, first, next) => {
    await REWRITE_REASONS.run(connection, { from: first, to: next });
  });
};

/** Erases the events in the store, once every process has heard of the erasure. */
export const eraseInStore = async (
  { pool, log }: Session,
  eraser: LogEraser,
  subject: Subject,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const { digest } = subject;
  const [erasure] = await READ_ERASURE.run(pool, { digest });
  if (erasure) await pause(Math.max(0, erasure.startedAt + SETTLE_MS - (await databaseTime(pool))));
  const after = erasure && erasure.next > 0 ? BigInt(erasure.next) - 1n : BEGINNING;
  const head = Number(await log.head());
  await eraser.erase(await targetOf(pool, log, subject), after, async ({ events, first, last, position }) => {
    await recordBatch(pool, digest, {
      next: Number(position) + 1,
      events,
      first: first === undefined ? undefined : Number(first),
      last: last === undefined ? undefined : Number(last),
    });
    onProgress({ phase: 'events', done: Number(position), fraction: Math.min(1, Number(position) / head) });
  });
};
