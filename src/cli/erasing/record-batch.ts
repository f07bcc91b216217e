import type { Pool, PoolClient } from 'pg';
import { RECORD_BATCH } from '../../read-models/erasures/statements.js';

/** What a transaction of an erasure has erased. */
interface ErasedBatch {
  /** Number of events by type. */
  readonly events?: Readonly<Record<string, number>>;
  /** Number of rows by table. */
  readonly rows?: Readonly<Record<string, number>>;
  /** The position at which a repeated call continues, if the batch is part of the log. */
  readonly next?: number;
  /** The positions of the first and the last erased event, if there is one. */
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/** Adds a batch to the record of an erasure, from which its certificate is made. */
export const recordBatch = async (
  connection: Pool | PoolClient,
  digest: string,
  { events = {}, rows = {}, next, first, last }: ErasedBatch,
): Promise<void> => {
  await RECORD_BATCH.run(connection, {
    digest,
    next: next ?? null,
    events: JSON.stringify(events),
    rows: JSON.stringify(rows),
    first: first ?? null,
    last: last ?? null,
  });
};
