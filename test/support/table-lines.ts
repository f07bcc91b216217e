import type { Pool } from 'pg';

/** Returns every row of the log, the read models and the service, including tables of a rebuild, as lines of text. */
export const tableLines = async (pool: Pool): Promise<string[]> => {
  const { rows: tables } = await pool.query<{ name: string }>(`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname in ('log', 'read', 'service') or schemaname like 'read\\_%' order by 1`);
  const lines: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ line: string }>(`select t::text as line from ${name} t`);
    lines.push(...rows.map(({ line }) => `${name} ${line}`).sort());
  }
  return lines;
};
