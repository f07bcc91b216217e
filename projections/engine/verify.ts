import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { BEGINNING, type EventLog } from '../../src/event-log/event-log.js';
import { createReadModels, readModelsOver } from '../../src/read-models/kysely.js';
import type { Tables } from '../../src/read-models/tables.js';
import type { Projection } from './projection.js';
import { createSchemaBeside, replayInto, type Target } from './replay.js';
import { COLUMNS_OF_TABLE } from './statements.js';

/** A row that only one side has. */
export interface Difference {
  readonly table: string;
  readonly side: 'only in the read model' | 'only in the recount';
  readonly row: object;
}

const MAX_SHOWN = 100;

interface Source {
  readonly pool: Pool;
  readonly log: EventLog;
}

/**
 * Counts projections anew from the log, read once, up to their live checkpoints, and compares every cell of every row.
 * While the rows of one are compared its live projector waits; the recount before does not hold it up.
 * @returns the differences, at most 100 a table and side
 */
export const verify = async (
  source: Source,
  projections: readonly Projection[],
  onProgress?: (position: bigint) => void,
): Promise<Difference[]> => {
  const live = createReadModels(source.pool);
  const targets = projections.map((projection) => ({ projection, schema: `read_check_${projection.name}` }));
  try {
    for (const { projection, schema } of targets) await createSchemaBeside(source.pool, schema, projection);
    const positions = await Promise.all(projections.map((projection) => livePosition(live, projection)));
    const least = positions.reduce((one, other) => (other < one ? other : one));
    const reached = await replayInto(source, targets, { upTo: least, onProgress });
    const differences: Difference[] = [];
    for (const target of targets) differences.push(...(await compare(source, target, reached)));
    return differences;
  } finally {
    for (const { schema } of targets) await source.pool.query(`drop schema if exists "${schema}" cascade`);
  }
};

/** Where a projection's live tables stand; with `lock` it stays there until the transaction ends. */
const livePosition = async (
  live: Kysely<Tables>,
  { name }: Projection,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<bigint> => {
  const checkpoint = live.selectFrom('checkpoints').select('position').where('projection', '=', name);
  const row = await (lock ? checkpoint.forUpdate() : checkpoint).executeTakeFirst();
  return row ? BigInt(row.position) : BEGINNING;
};

/** @param reached the position up to which it has been counted anew */
const compare = async (source: Source, target: Target, reached: bigint): Promise<Difference[]> => {
  const { pool } = source;
  const { projection, schema } = target;
  const after = await replayInto(source, [target], {
    after: reached,
    upTo: await livePosition(createReadModels(pool), projection),
  });
  const connection = await pool.connect();
  const live = readModelsOver(connection).withSchema('read');
  try {
    await connection.query('begin; set local lock_timeout = 30000; set local statement_timeout = 0');
    await replayInto(source, [target], { after, upTo: await livePosition(live, projection, { lock: true }) });
    const differences: Difference[] = [];
    for (const table of projection.tables) {
      const columns = await columnsOf(connection, table);
      const look = async (one: string, other: string, side: Difference['side']): Promise<void> => {
        const comparison = {
          text: `select ${columns} from ${one} except all select ${columns} from ${other} limit ${MAX_SHOWN}`,
          query_timeout: 0,
        };
        const found = await connection.query<object>(comparison);
        for (const row of found.rows) differences.push({ table, side, row });
      };
      await look(`read."${table}"`, `"${schema}"."${table}"`, 'only in the read model');
      await look(`"${schema}"."${table}"`, `read."${table}"`, 'only in the recount');
    }
    return differences;
  } finally {
    await connection.query('rollback').catch(() => {});
    connection.release();
  }
};

/** The columns of a table, those that cannot be compared as they are as text. */
const columnsOf = async (connection: PoolClient, table: string): Promise<string> => {
  const { rows } = await connection.query<{ column_name: string; data_type: string }>({
    ...COLUMNS_OF_TABLE,
    values: [table],
  });
  return rows.map(({ column_name, data_type }) => `"${column_name}"${data_type === 'json' ? '::text' : ''}`).join(', ');
};
