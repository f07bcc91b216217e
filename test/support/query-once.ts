import { Client } from 'pg';

/** Runs SQL on a new connection, by default without timeouts. */
export const queryOnce = async <Row>(url: string, sql: string, timeoutMs?: number): Promise<Row[]> => {
  const client = new Client({ connectionString: url, query_timeout: timeoutMs });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
};
