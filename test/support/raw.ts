import { connect, type Socket } from 'node:net';

/** The data received over a connection, as latin1. */
interface Heard {
  readonly answer: string;
  readonly isClosed: boolean;
}

interface Conversation {
  readonly socket: Socket;
  /** The data received so far. */
  readonly heard: Heard;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<Heard>;
}

const open = (url: string): Socket => {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname).on('error', () => {});
};

/** Opens a connection, sends the bytes unchanged, and never reads. */
export const sendUnread = (url: string, bytes: string | Buffer): Socket => {
  const socket = open(url);
  socket.pause();
  socket.write(bytes);
  return socket;
};

/** Opens a connection, sends the bytes unchanged, and reads everything. */
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

/** Sends bytes unchanged. @returns the data received until the server closed the connection or the time was over */
export const sendRaw = async (url: string, bytes: string | Buffer, timeoutMs = 30_000): Promise<Heard> => {
  const { socket, heard, closed } = converse(url, bytes);
  let timer: NodeJS.Timeout | undefined;
  const isOver = new Promise<Heard>((resolve) => {
    timer = setTimeout(() => resolve({ ...heard }), timeoutMs);
  });
  const seen = await Promise.race([closed, isOver]);
  clearTimeout(timer);
  socket.destroy();
  return seen;
};

/** Sends the pieces until a response arrives. @returns its status, or 0 if no response arrived in time */
export const sendUntilAnswered = async (
  url: string,
  pieces: Iterable<string | Buffer>,
  timeoutMs: number,
): Promise<number> => {
  const { socket, heard, closed } = converse(url, '');
  socket.setMaxListeners(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  socket.on('data', () => heard.answer.includes('\r\n\r\n') && socket.destroy());
  for (const piece of pieces) {
    if (!socket.writable || heard.answer !== '') break;
    if (!socket.write(piece)) await new Promise((drained) => socket.once('drain', drained).once('close', drained));
  }
  const { answer } = await closed;
  clearTimeout(timer);
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
};

/**
 * Opens a connection, sends `head`, and then sends `piece` every `everyMs` ms. `closed` resolves to the data received
 * until the connection ended.
 */
export const drip = (
  url: string,
  { head, piece, everyMs }: { head: string; piece: string; everyMs: number },
): { readonly socket: Socket; readonly closed: Promise<string> } => {
  const { socket, closed: ended } = converse(url, head);
  const timer = setInterval(() => !socket.connecting && socket.writable && socket.write(piece), everyMs);
  const closed = ended.then(({ answer }) => {
    clearInterval(timer);
    return answer;
  });
  return { socket, closed };
};
