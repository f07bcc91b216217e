import { Client } from 'pg';

/** Runs SQL on a new connection without timeouts. */
export const queryOnce = async <Row>(url: string, sql: string): Promise<Row[]> => {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
};
