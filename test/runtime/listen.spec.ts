import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../src/runtime/config.js';
import { AddressInUse, listenAt, requireFreePort } from '../../src/runtime/listen.js';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const listen = (host: string, port = 0, portName?: 'OPS_PORT') =>
  listenAt(
    {
      listen: async (address) => {
        const server = createServer().listen(address);
        servers.push(server);
        await once(server, 'listening');
        return server.address() as { port: number };
      },
    },
    { host, port },
    portName,
  );

describe('listenAt', () => {
  it.each(['none.invalid', '192.0.2.1'])('rejects %s, which is no address of this machine', async (host) => {
    const sentence = `HOST is "${host}"; it must be an address of this machine, or a host name that resolves to one`;
    await expect(listen(host)).rejects.toThrow(new ConfigError(sentence));
    await expect(listen(host, 0, 'OPS_PORT')).rejects.toThrow(new ConfigError(`OPS_${sentence}`));
  });

  it('reports a port in use as an error that ends the process with the exit code of a wrong setting', async () => {
    const { port } = await listen('127.0.0.1');
    const refused = listen('127.0.0.1', port);
    await expect(refused).rejects.toThrow(AddressInUse);
    await expect(refused).rejects.toThrow(ConfigError);
  });

  it('is preceded by a wait for a port that the previous process is about to release', async () => {
    const previous = createServer().listen(0, '127.0.0.1');
    await once(previous, 'listening');
    const { port } = previous.address() as AddressInfo;
    let isFree = false;
    const waited = requireFreePort({ host: '127.0.0.1', port }, 'PORT', () => false).then(() => (isFree = true));
    await expect(listen('127.0.0.1', port)).rejects.toThrow(AddressInUse);
    expect(isFree).toBe(false);
    previous.close();
    await waited;
    await listen('127.0.0.1', port);
  });
});
