import type { PoolClient } from 'pg';
import { inTransaction } from '../../src/postgres/transaction.js';
import { createReadModels, readModelsOver } from '../../src/read-models/kysely.js';
import type { Projection } from './projection.js';
import { applyLog, applyUpToLive, type Source, type Target, withTablesBeside } from './apply-log.js';
import { livePosition } from './checkpoints.js';
import { COLUMNS_OF_TABLE } from './statements.js';

/** A row that exists on one side only. */
export interface Difference {
  readonly table: string;
  readonly side: 'only in the read model' | 'only in the rebuild';
  readonly row: object;
}

/** Differences listed of a table and side. */
export const MAX_SHOWN = 100;

/**
 * Rebuilds projections from the log, read once, up to their live checkpoints, and compares every cell of every row.
 * The live projector waits only while the last events of the rebuild are applied, not during the comparison.
 * @returns the differences, at most 100 per table and side
 * @throws if one of the same projection is running
 */
export const verify = async (
  source: Source,
  projections: readonly Projection[],
  onProgress?: (position: bigint) => void,
): Promise<Difference[]> => {
  const { pool } = source;
  const targets = projections.map((projection) => ({ projection, schema: `read_check_${projection.name}` }));
  return withTablesBeside(pool, targets, 'A verification', async (guard) => {
    const live = createReadModels(pool);
    const positions = await Promise.all(projections.map((projection) => livePosition(live, projection)));
    const least = positions.reduce((one, other) => (other < one ? other : one));
    const reached = await applyLog(source, targets, { upTo: least, onProgress });
    const differences: Difference[] = [];
    for (const target of targets) differences.push(...(await compare(source, target, { guard, reached })));
    return differences;
  });
};

/** @param reached the position up to which it was rebuilt */
const compare = async (
  source: Source,
  target: Target,
  { guard, reached }: { readonly guard: PoolClient; readonly reached: bigint },
): Promise<Difference[]> => {
  const { projection, schema } = target;
  const near = await applyUpToLive(source, target, reached);
  try {
    await takeSnapshot(source, target, { guard, reached: near });
    const differences: Difference[] = [];
    for (const table of projection.tables) {
      const columns = await columnsOf(guard, table);
      const look = async (one: string, other: string, side: Difference['side']): Promise<void> => {
        const comparison = `select ${columns} from ${one} except all select ${columns} from ${other} limit ${MAX_SHOWN}`;
        const rows: object[] = (await guard.query(comparison)).rows;
        for (const row of rows) differences.push({ table, side, row });
      };
      await look(`read."${table}"`, `"${schema}"."${table}"`, 'only in the read model');
      await look(`"${schema}"."${table}"`, `read."${table}"`, 'only in the rebuild');
    }
    return differences;
  } finally {
    await guard.query('rollback').catch(() => {});
  }
};

/**
 * Begins the guard's transaction with a snapshot of both sides at one position: taken while another connection holds the
 * checkpoint and the rest has been applied. The tables are locked, because a rebuild that replaced one afterwards would
 * show the snapshot only a part of its rows.
 */
const takeSnapshot = (
  source: Source,
  target: Target,
  { guard, reached }: { readonly guard: PoolClient; readonly reached: bigint },
): Promise<void> => {
  const { projection } = target;
  const tables = projection.tables.map((table) => `read."${table}"`).join(', ');
  const hold = async (connection: PoolClient): Promise<void> => {
    const live = readModelsOver(connection).withSchema('read');
    const upTo = await livePosition(live, projection, { lock: true });
    await applyLog(source, [target], { after: reached, upTo });
    await guard.query('begin isolation level repeatable read read only; set local statement_timeout = 0');
    await guard.query(`lock table ${tables} in access share mode`);
    // The first statement that reads takes the snapshot.
    await livePosition(readModelsOver(guard).withSchema('read'), projection);
  };
  const limits = 'set local lock_timeout = 30000; set local idle_in_transaction_session_timeout = 30000';
  return inTransaction(source.pool, hold, `begin; ${limits}`);
};

/** A table's columns; those that cannot be compared directly as text. */
const columnsOf = async (connection: PoolClient, table: string): Promise<string> => {
  const columns = await COLUMNS_OF_TABLE.run(connection, { table });
  return columns.map(({ name, type }) => `"${name}"${type === 'json' ? '::text' : ''}`).join(', ');
};
