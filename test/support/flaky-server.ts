import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/** Starts a proxy of a database that closes the first `refusals` connections at once. */
export const startFlakyServer = async (
  database: string,
  refusals: number,
): Promise<{ readonly url: string; readonly close: () => void }> => {
  const { hostname, port } = new URL(database);
  let refusalsLeft = refusals;
  const server = createServer((near) => {
    if (refusalsLeft-- > 0) return void near.destroy();
    const far = connect({ host: hostname, port: Number(port) });
    for (const socket of [near, far]) socket.on('error', () => near.destroy()).on('close', () => far.destroy());
    near.pipe(far).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(database);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: url.href, close: () => void server.close() };
};
