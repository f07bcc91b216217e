import { connect, type Socket } from 'node:net';

const open = (url: string, options: { localAddress?: string } = {}): Socket => {
  const { hostname, port } = new URL(url);
  return connect({ host: hostname, port: Number(port), ...options }).on('error', () => {});
};

/** A connection on which bytes are sent as they are, and nothing is ever read. */
export const sendUnread = (url: string, bytes: string | Buffer): Socket => {
  const socket = open(url);
  socket.pause();
  socket.write(bytes);
  return socket;
};

/** Sends bytes as they are. @returns what came back until the other side closed, or until `patience` was over */
export const sendRaw = (
  url: string,
  bytes: string | Buffer,
  patience = 3_000,
): Promise<{ answer: string; isClosed: boolean }> =>
  new Promise((resolve) => {
    const socket = open(url);
    let answer = '';
    const timer = setTimeout(() => {
      socket.destroy();
      resolve({ answer, isClosed: false });
    }, patience);
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ answer, isClosed: true });
    });
    socket.write(bytes);
  });

/** A connection that sends a beginning, then a drop every now and then. */
export const drip = (
  url: string,
  { head, drop, everyMs }: { head: string; drop: string; everyMs: number },
): { readonly socket: Socket; readonly cut: Promise<string> } => {
  const socket = open(url);
  let timer: NodeJS.Timeout | undefined;
  socket.on('connect', () => {
    socket.write(head);
    timer = setInterval(() => socket.writable && socket.write(drop), everyMs);
  });
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  const cut = new Promise<string>((resolve) =>
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    }),
  );
  return { socket, cut };
};
