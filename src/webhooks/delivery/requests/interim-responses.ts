import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';

/** Maximum number of interim responses before a final response. */
const MAX_INTERIM = 8;
/** Maximum size of an interim response. */
const MAX_INTERIM_BYTES = 16_384;
/** The beginning of an interim response, without the last two digits of its status. */
const START = 'HTTP/1.1 1';
const STATUS_BYTES = START.length + 2;
const SWITCHING_PROTOCOLS = `${START}01`;

/** Removes the interim responses from the bytes of one connection. */
class InterimFilter {
  /** The bytes of an interim response that is incomplete; undefined once the final response has begun. */
  private held: Buffer | undefined;
  private removed = 0;

  /** Must be called when a request is written, so that a response begins with the next bytes. */
  expectResponse(): void {
    this.held ??= Buffer.alloc(0);
    this.removed = 0;
  }

  /** @returns null if no bytes of the final response have arrived */
  filter(chunk: Buffer): Buffer | null {
    if (this.held === undefined) return chunk;
    let bytes = Buffer.concat([this.held, chunk]);
    for (; this.removed < MAX_INTERIM; this.removed += 1) {
      const start = bytes.toString('latin1', 0, STATUS_BYTES);
      if (!start.startsWith(START.slice(0, start.length)) || start === SWITCHING_PROTOCOLS) break;
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) {
        if (bytes.length > MAX_INTERIM_BYTES) break;
        this.held = bytes;
        return null;
      }
      bytes = bytes.subarray(end + 4);
    }
    this.held = undefined;
    return bytes.length > 0 ? bytes : null;
  }
}

const removeInterim = (socket: Socket): Socket => {
  const filter = new InterimFilter();
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  return Object.assign(socket, {
    write: (...given: unknown[]) => {
      filter.expectResponse();
      return write(...given);
    },
    read: (size?: number) => {
      const chunk = read(size);
      return chunk && filter.filter(chunk);
    },
  });
};

/**
 * Connects like `connect`, with sockets on which undici sees no interim responses (RFC 9110, 15.2). undici closes the
 * connection when `100 Continue` arrives, although a client must accept it. After eight interim responses, the next one
 * is left to undici.
 */
export const withoutInterim =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...[error, socket]: buildConnector.CallbackArgs) =>
      error === null ? callback(null, removeInterim(socket)) : callback(error, null),
    );
