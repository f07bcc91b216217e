import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral ports: an outgoing connection could take such a port while a program restarts. */
const [FIRST, LAST] = [20_000, 32_000];
const TRIES = 50;

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
};

/** Returns a free loopback port for programs that cannot listen on port 0. */
export const freePort = async (): Promise<number> => {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
  throw new Error(`Found no free port from ${FIRST} to ${LAST} in ${TRIES} tries`);
};
