import type { Pool } from 'pg';
import { formatAmount, type Goal } from './goal.js';
import { growLog } from './log-work.js';
import { openLog } from './services.js';

const MB = 1024 * 1024;

interface Sizes {
  readonly log: number;
  readonly readModels: number;
  /** Write-ahead log written since the cluster was created. */
  readonly wal: number;
}

/** Returns the sizes in bytes. */
const sizesOf = async (pool: Pool): Promise<Sizes> => {
  const sizeOf = (schema: string): string =>
    `(select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = '${schema}' and c.relkind = 'r')::float8`;
  const { rows } = await pool.query<Sizes>(`
    select ${sizeOf('log')} as log, ${sizeOf('read')} as "readModels", (pg_current_wal_lsn() - '0/0')::float8 as wal`);
  return rows[0]!;
};

/** Returns the eight largest tables: bytes per event including the indexes, and the share of the indexes. */
const tablesOf = async (pool: Pool, events: number): Promise<(string | number)[][]> => {
  const { rows } = await pool.query<{ name: string; bytes: number; indexes: number }>(`
    select n.nspname || '.' || c.relname as name, pg_total_relation_size(c.oid)::float8 as bytes,
      pg_indexes_size(c.oid)::float8 as indexes
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('log', 'read', 'service') and c.relkind = 'r' order by 2 desc limit 8`);
  return rows.map(({ name, bytes, indexes }) => [
    name,
    Math.round(bytes / events),
    `${Math.round((100 * indexes) / bytes)} %`,
  ]);
};

const perMillion = (ms: number, events: number): string => ((ms / events) * 1_000).toFixed(0);

/** Measures size and duration while a log and its read models grow to 2 M events, or to 20 M with `--20m`. */
export const sizing: Goal = {
  name: 'sizing',
  run: async (bench) => {
    const { quick, twenty } = bench.sizes;
    const marks = quick ? [10_000] : [1, 2, ...(twenty ? [5, 10, 20] : [])].map((millions) => millions * 1_000_000);
    const database = await bench.database();
    const { pool } = database;
    const log = await openLog(bench, database);
    const rows: (string | number)[][] = [];
    let events = 0;
    let before: Sizes & { readonly events: number } = { ...(await sizesOf(pool)), events };
    for (const mark of marks) {
      const { appendMs, projectMs } = await growLog(bench, { database, log, events }, mark);
      events = mark;
      const sizes = await sizesOf(pool);
      const grown = events - before.events;
      rows.push([
        formatAmount(events),
        formatAmount((sizes.log + sizes.readModels) / MB),
        Math.round((sizes.log - before.log) / grown),
        Math.round((sizes.readModels - before.readModels) / grown),
        Math.round((sizes.wal - before.wal) / grown),
        perMillion(appendMs, grown),
        perMillion(projectMs, grown),
      ]);
      before = { ...sizes, events };
    }
    const columns = [
      'events',
      'MB',
      'log, bytes per added event',
      'read models, bytes per added event',
      'write-ahead log, bytes per added event',
      'append, s per million',
      'project, s per million',
    ];
    bench.keepGrowth({ what: 'Growth of a log and its read models', columns, rows });
    bench.keepGrowth({
      what: 'The largest tables',
      columns: ['table', 'bytes per event', 'indexes'],
      rows: await tablesOf(pool, events),
    });
    return [];
  },
};
