import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** A server's open connections, kept up to date from now on. */
export const openConnections = (server: Server): ReadonlySet<Socket> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
};
