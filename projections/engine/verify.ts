import type { Kysely } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { BEGINNING, type EventLog } from '../../src/event-log/event-log.js';
import { createReadModels, readModelsOver } from '../../src/read-models/kysely.js';
import type { Tables } from '../../src/read-models/tables.js';
import type { Projection } from './projection.js';
import { applyLog, createSchemaBeside, type Target } from './apply-log.js';
import { COLUMNS_OF_TABLE } from './statements.js';

/** A row that exists on one side only. */
export interface Difference {
  readonly table: string;
  readonly side: 'only in the read model' | 'only in the rebuild';
  readonly row: object;
}

/** Differences listed of a table and side. */
export const MAX_SHOWN = 100;

interface Source {
  readonly pool: Pool;
  readonly log: EventLog;
}

/**
 * Rebuilds projections from the log, read once, up to their live checkpoints, and compares every cell of every row.
 * During the comparison the live projector waits; during the rebuild it does not.
 * @returns the differences, at most 100 per table and side
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
    const reached = await applyLog(source, targets, { upTo: least, onProgress });
    const differences: Difference[] = [];
    for (const target of targets) differences.push(...(await compare(source, target, reached)));
    return differences;
  } finally {
    for (const { schema } of targets) await source.pool.query(`drop schema if exists "${schema}" cascade`);
  }
};

/** A projection's live position; with `lock` it stays there until the transaction ends. */
const livePosition = async (
  live: Kysely<Tables>,
  { name }: Projection,
  { lock = false }: { readonly lock?: boolean } = {},
): Promise<bigint> => {
  const checkpoint = live.selectFrom('checkpoints').select('position').where('projection', '=', name);
  const row = await (lock ? checkpoint.forUpdate() : checkpoint).executeTakeFirst();
  return row ? BigInt(row.position) : BEGINNING;
};

/** @param reached the position up to which it was rebuilt */
const compare = async (source: Source, target: Target, reached: bigint): Promise<Difference[]> => {
  const { pool } = source;
  const { projection, schema } = target;
  const after = await applyLog(source, [target], {
    after: reached,
    upTo: await livePosition(createReadModels(pool), projection),
  });
  const connection = await pool.connect();
  const live = readModelsOver(connection).withSchema('read');
  try {
    await connection.query('begin; set local lock_timeout = 30000; set local statement_timeout = 0');
    await applyLog(source, [target], { after, upTo: await livePosition(live, projection, { lock: true }) });
    const differences: Difference[] = [];
    for (const table of projection.tables) {
      const columns = await columnsOf(connection, table);
      const look = async (one: string, other: string, side: Difference['side']): Promise<void> => {
        const comparison = {
          text: `select ${columns} from ${one} except all select ${columns} from ${other} limit ${MAX_SHOWN}`,
          query_timeout: 0,
        };
        const rows: object[] = (await connection.query(comparison)).rows;
        for (const row of rows) differences.push({ table, side, row });
      };
      await look(`read."${table}"`, `"${schema}"."${table}"`, 'only in the read model');
      await look(`"${schema}"."${table}"`, `read."${table}"`, 'only in the rebuild');
    }
    return differences;
  } finally {
    await connection.query('rollback').catch(() => {});
    connection.release();
  }
};

/** A table's columns; those that cannot be compared directly as text. */
const columnsOf = async (connection: PoolClient, table: string): Promise<string> => {
  const columns = await COLUMNS_OF_TABLE.run(connection, { table });
  return columns.map(({ name, type }) => `"${name}"${type === 'json' ? '::text' : ''}`).join(', ');
};
