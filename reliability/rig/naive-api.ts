/**
 * A naive API for negative controls: a pool with the defaults of the driver, without timeouts, and with a listener for
 * broken connections only if LISTENS is set.
 */
import { createServer } from 'node:http';
import { Pool } from 'pg';

/** The default size of the driver's pool. */
const CONNECTIONS = 10;

const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: CONNECTIONS });
if (process.env['LISTENS']) pool.on('error', () => {});
// A lost connection only ends the process if the connection is idle, so more connections are opened than are in use.
const opened = await Promise.all(Array.from({ length: CONNECTIONS }, () => pool.connect()));
for (const connection of opened) connection.release();

const statusOf = async (url: string): Promise<number> => {
  if (url === '/health/live') return 200;
  try {
    await pool.query('select 1');
    return 200;
  } catch {
    return 500;
  }
};

const server = createServer((request, response) => {
  request.resume();
  void statusOf(request.url!).then((status) => response.writeHead(status).end());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`Listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
});
process.on('disconnect', () => process.exit(0));
