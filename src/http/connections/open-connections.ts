import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Returns the open connections of a server. The set is updated as connections open and close. */
export const openConnections = (server: Server): ReadonlySet<Socket> => {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
};
