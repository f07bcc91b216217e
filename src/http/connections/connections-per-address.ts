import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { clientOf } from '../access/client-address.js';

/**
 * Refuses further connections of an address with a reset, for which nothing is read or stored. Memory is bounded by the
 * open connections.
 * @param most open at once per IPv4 address or IPv6 /64 network; 0 means no limit
 * @param onRefused called for each connection refused
 */
export const limitConnections = (server: Server, most: number, onRefused: () => void): void => {
  if (most === 0) return;
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    // Absent if the client has left already.
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
