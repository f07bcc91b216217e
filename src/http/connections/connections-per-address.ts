import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { clientOf } from '../access/client-address.js';

/**
 * Limits the open connections per address. Further connections are reset without reading from them. The memory used is
 * proportional to the number of open connections.
 * @param max open connections per IPv4 address or IPv6 /64 network; 0 means no limit
 * @param onRefused called for each refused connection
 */
export const limitConnections = (server: Server, max: number, onRefused: () => void): void => {
  if (max === 0) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    // Undefined if the client has already closed the connection.
    const address = socket.remoteAddress;
    if (address === undefined) return void socket.destroy();
    const client = clientOf(address);
    const count = open.get(client) ?? 0;
    if (count >= max) {
      onRefused();
      return void socket.resetAndDestroy();
    }
    open.set(client, count + 1);
    socket.once('close', () => {
      const left = open.get(client)! - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
  });
};
