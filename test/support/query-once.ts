import { Client } from 'pg';

/** Sends SQL on a connection of its own, which has no limits. */
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
