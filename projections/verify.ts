import type { Pool, PoolClient } from 'pg';
import type { EventLog } from '../src/event-log/event-log.js';
import type { Projection } from './projection.js';
import { createSchemaBeside, replayInto } from './replay.js';

/** A row that only one side has. */
export interface Difference {
  readonly table: string;
  readonly side: 'only in the read model' | 'only in the recount';
  readonly row: unknown;
}

const MOST_SHOWN = 100;

/**
 * Counts a projection anew from the log, up to the live checkpoint, and compares every cell of every row. While the
 * rows are compared the live projector waits; the recount before it does not hold it up.
 * @returns the differences, at most 100 a table and side
 */
export const verify = async (
  source: { readonly pool: Pool; readonly log: EventLog },
  projection: Projection,
  onProgress?: (position: bigint) => void,
): Promise<Difference[]> => {
  const { pool } = source;
  const schema = `read_check_${projection.name}`;
  await createSchemaBeside(pool, schema, projection);
  const live = async (): Promise<bigint> => {
    const { rows } = await pool.query<{ position: number }>(
      'select position from read.checkpoints where projection = $1',
      [projection.name],
    );
    return BigInt(rows[0]?.position ?? -1);
  };
  const position = await replayInto(source, schema, projection, { upTo: await live(), onProgress });
  const connection = await pool.connect();
  try {
    await connection.query('begin; set local lock_timeout = 30000; set local statement_timeout = 0');
    const { rows } = await connection.query<{ position: number }>(
      'select position from read.checkpoints where projection = $1 for update',
      [projection.name],
    );
    const upTo = BigInt(rows[0]?.position ?? -1);
    await replayInto(source, schema, projection, { after: position, upTo, onProgress });
    const differences: Difference[] = [];
    for (const table of projection.tables) {
      const columns = await columnsOf(connection, table);
      const compare = async (one: string, other: string, side: Difference['side']): Promise<void> => {
        const comparison = {
          text: `select ${columns} from ${one} except all select ${columns} from ${other} limit ${MOST_SHOWN}`,
          query_timeout: 0,
        };
        const found = await connection.query<object>(comparison);
        for (const row of found.rows) differences.push({ table, side, row });
      };
      await compare(`read."${table}"`, `"${schema}"."${table}"`, 'only in the read model');
      await compare(`"${schema}"."${table}"`, `read."${table}"`, 'only in the recount');
    }
    return differences;
  } finally {
    await connection.query('rollback').catch(() => {});
    connection.release();
    await pool.query(`drop schema if exists "${schema}" cascade`);
  }
};

/** The columns of a table, those that cannot be compared as they are as text. */
const columnsOf = async (connection: PoolClient, table: string): Promise<string> => {
  const { rows } = await connection.query<{ column_name: string; data_type: string }>(
    `select column_name, data_type from information_schema.columns
     where table_schema = 'read' and table_name = $1 order by ordinal_position`,
    [table],
  );
  return rows.map(({ column_name, data_type }) => `"${column_name}"${data_type === 'json' ? '::text' : ''}`).join(', ');
};
