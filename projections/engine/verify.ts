import type { PoolClient } from 'pg';
import { inTransaction } from '../../src/postgres/transaction.js';
import { createReadModels, readModelsOver } from '../../src/read-models/tables.js';
import type { Projection } from './projection.js';
import {
  applyLog,
  applyUpToLive,
  BEGIN_HOLDING,
  type Source,
  type Target,
  whileHolding,
  withShadowTables,
} from './apply-log.js';
import { livePosition } from './checkpoints.js';
import { COLUMNS_OF_TABLE } from './shadow-tables-sql.js';

/** A row that only the read model or only the rebuild has. */
export interface Difference {
  readonly table: string;
  readonly side: 'only in the read model' | 'only in the rebuild';
  readonly row: object;
}

/** Maximum number of differences that are listed per table and side. */
export const MAX_SHOWN = 100;

/**
 * Rebuilds projections in shadow tables up to the live checkpoints, and compares every cell with the live tables. The
 * live projector waits only while the last events are applied, not during the comparison.
 * @returns the differences, at most 100 per table and side
 * @throws if another verification of one of the projections is running
 */
export const verify = async (
  source: Source,
  projections: readonly Projection[],
  onProgress?: (position: bigint) => void,
): Promise<Difference[]> => {
  const { pool } = source;
  const targets = projections.map((projection) => ({ projection, schema: `read_check_${projection.name}` }));
  return withShadowTables(pool, targets, 'A verification', async (lockConnection) => {
    const live = createReadModels(pool);
    const positions = await Promise.all(projections.map((projection) => livePosition(live, projection)));
    const lowest = positions.reduce((one, other) => (other < one ? other : one));
    const reached = await applyLog(source, targets, { upTo: lowest, onProgress });
    const differences: Difference[] = [];
    for (const target of targets) differences.push(...(await compare(source, target, { lockConnection, reached })));
    return differences;
  });
};

/** @param reached the position of the shadow tables */
const compare = async (
  source: Source,
  target: Target,
  { lockConnection, reached }: { readonly lockConnection: PoolClient; readonly reached: bigint },
): Promise<Difference[]> => {
  const { projection, schema } = target;
  const current = await applyUpToLive(source, target, reached);
  try {
    await whileHolding(source, (held) => takeSnapshot(held, target, { lockConnection, reached: current }));
    const differences: Difference[] = [];
    for (const table of projection.tables) {
      // A scavenge of EventStoreDB removes events, and with them the first event of some milliseconds.
      if (table === projection.clock && source.log.positionUnit === 'bytes') continue;
      const columns = await columnsOf(lockConnection, table);
      const compareRows = async (one: string, other: string, side: Difference['side']): Promise<void> => {
        const comparison = `select ${columns} from ${one} except all select ${columns} from ${other} limit ${MAX_SHOWN}`;
        const rows: object[] = (await lockConnection.query(comparison)).rows;
        for (const row of rows) differences.push({ table, side, row });
      };
      await compareRows(`read."${table}"`, `"${schema}"."${table}"`, 'only in the read model');
      await compareRows(`"${schema}"."${table}"`, `read."${table}"`, 'only in the rebuild');
    }
    return differences;
  } finally {
    await lockConnection.query('rollback').catch(() => {});
  }
};

/**
 * Starts a transaction on the lock connection with a snapshot of live tables and shadow tables at the same position.
 * While the snapshot is taken, another connection locks the checkpoint. The transaction locks the live tables, so that
 * no rebuild can replace them before they have been compared.
 */
const takeSnapshot = (
  source: Source,
  target: Target,
  { lockConnection, reached }: { readonly lockConnection: PoolClient; readonly reached: bigint },
): Promise<void> => {
  const { projection } = target;
  const tables = projection.tables.map((table) => `read."${table}"`).join(', ');
  const snapshotAtCheckpoint = async (connection: PoolClient): Promise<void> => {
    const live = readModelsOver(connection).withSchema('read');
    const upTo = await livePosition(live, projection, { lock: true });
    await applyLog(source, [target], { after: reached, upTo });
    await lockConnection.query('begin isolation level repeatable read read only; set local statement_timeout = 0');
    await lockConnection.query(`lock table ${tables} in access share mode`);
    // The first query of the transaction takes the snapshot.
    await livePosition(readModelsOver(lockConnection).withSchema('read'), projection);
  };
  return inTransaction(source.pool, snapshotAtCheckpoint, `${BEGIN_HOLDING}; set local lock_timeout = 30000`);
};

/** The columns of a table for `select`. Types that cannot be compared are cast to text. */
const columnsOf = async (connection: PoolClient, table: string): Promise<string> => {
  const columns = await COLUMNS_OF_TABLE.run(connection, { table });
  return columns.map(({ name, type }) => `"${name}"${type === 'json' ? '::text' : ''}`).join(', ');
};
