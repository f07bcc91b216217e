import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of loopback that was free a moment ago, for programs that cannot choose one themselves. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
};
