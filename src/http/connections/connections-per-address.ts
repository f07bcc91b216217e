import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { clientOf } from '../access/client-address.js';

/**
 * Refuses connections of an address that has enough of them: a reset, for which nothing is read or kept. What it
 * remembers is bounded by the connections that are open.
 * @param most open at once per IPv4 address, or IPv6 network of 64 bits; 0 means no limit
 * @param onRefused called for each connection refused
 */
export const limitConnections = (server: Server, most: number, onRefused: () => void): void => {
  if (most === 0) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    // Absent where the client has left already.
    const address = socket.remoteAddress;
    if (address === undefined) return void socket.destroy();
    const client = clientOf(address);
    const count = open.get(client) ?? 0;
    if (count >= most) {
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
