import { Client } from 'pg';

/** Runs a statement on a connection of its own. @returns its rows */
export const sql = async <Row extends object = Record<string, string>>(
  databaseUrl: string,
  text: string,
  values?: readonly unknown[],
): Promise<Row[]> => {
  const client = new Client({ connectionString: databaseUrl, query_timeout: 60_000 });
  // A server may be killed while it is asked.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(text, values as unknown[])).rows;
  } finally {
    await client.end();
  }
};
