/** Prints every outgoing connection of a process. */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: Socket };
  socket.once('connectionAttempt', (address: string, port: number) => console.log(`CONNECTS ${address}:${port}`));
});
