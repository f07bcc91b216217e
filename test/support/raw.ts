import { connect, type Socket } from 'node:net';

/** What has come over a connection, as latin1. */
interface Heard {
  readonly answer: string;
  readonly isClosed: boolean;
}

interface Conversation {
  readonly socket: Socket;
  /** What has come so far. */
  readonly heard: Heard;
  /** Settles when the connection has ended, however it did. */
  readonly closed: Promise<Heard>;
}

const open = (url: string): Socket => {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname).on('error', () => {});
};

/** A connection on which bytes are sent as they are, and nothing is ever read. */
export const sendUnread = (url: string, bytes: string | Buffer): Socket => {
  const socket = open(url);
  socket.pause();
  socket.write(bytes);
  return socket;
};

/** A connection on which bytes are sent as they are, and all is read. */
export const converse = (url: string, bytes: string | Buffer): Conversation => {
  const socket = open(url);
  const heard = { answer: '', isClosed: false };
  socket.on('data', (data: Buffer) => (heard.answer += data.toString('latin1')));
  const closed = new Promise<Heard>((resolve) =>
    socket.on('close', () => {
      heard.isClosed = true;
      resolve(heard);
    }),
  );
  socket.write(bytes);
  return { socket, heard, closed };
};

/** Sends bytes as they are. @returns what came back until the other side closed, or until `patience` (ms) was over */
export const sendRaw = async (url: string, bytes: string | Buffer, patience = 30_000): Promise<Heard> => {
  const { socket, heard, closed } = converse(url, bytes);
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<Heard>((resolve) => {
    timer = setTimeout(() => resolve({ ...heard }), patience);
  });
  const seen = await Promise.race([closed, isOver]);
  clearTimeout(timer);
  socket.destroy();
  return seen;
};

/** Sends until it is answered. @returns the status, 0 if there was none within `patience` (ms) */
export const sendUntilAnswered = async (
  url: string,
  pieces: Iterable<string | Buffer>,
  patience: number,
): Promise<number> => {
  const { socket, heard, closed } = converse(url, '');
  socket.setMaxListeners(0);
  const timer = setTimeout(() => socket.destroy(), patience);
  socket.on('data', () => heard.answer.includes('\r\n\r\n') && socket.destroy());
  for (const piece of pieces) {
    if (!socket.writable || heard.answer !== '') break;
    if (!socket.write(piece)) await new Promise((drained) => socket.once('drain', drained).once('close', drained));
  }
  const { answer } = await closed;
  clearTimeout(timer);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
};

/** A connection that sends a beginning, then a drop every now and then. */
export const drip = (
  url: string,
  { head, drop, everyMs }: { head: string; drop: string; everyMs: number },
): { readonly socket: Socket; readonly cut: Promise<string> } => {
  const { socket, closed } = converse(url, head);
  const timer = setInterval(() => !socket.connecting && socket.writable && socket.write(drop), everyMs);
  const cut = closed.then(({ answer }) => {
    clearInterval(timer);
    return answer;
  });
  return { socket, cut };
};
