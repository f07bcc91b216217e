/**
 * A load generator: sends requests over keep-alive connections as fast as the server responds. It does as little work
 * per request as possible, so that the server is the bottleneck.
 */
import { connect, type Socket } from 'node:net';
import { serveParent } from './process.js';
import { quantile } from './statistics.js';

export interface LoadOptions {
  readonly host: string;
  readonly port: number;
  /** Complete requests, headers and body, sent in turn. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly ms: number;
  /**
   * Whether this process busy-waits instead of sleeping until a response arrives. On a virtual machine, waking a
   * sleeping process takes as long as a response from memory, which distorts comparisons of fast servers. Default:
   * false.
   */
  readonly busyWaits?: boolean;
}

export interface LoadResult {
  readonly perSecond: number;
  /** Latencies in ms. */
  readonly p50: number;
  readonly p99: number;
  /** The share of the time that this process was busy. Near 1, the generator is the bottleneck, not the server. */
  readonly busy: number;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)/i;

/** Counts the responses in the bytes that arrive on a connection. */
class ResponseCounter {
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes of the current body that have not arrived yet. */
  private missing = 0;

  /** @returns the number of responses that ended in this chunk */
  read(chunk: Buffer): number {
    let ended = 0;
    let from = 0;
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    while (from < bytes.length) {
      if (this.missing > 0) {
        const consumed = Math.min(this.missing, bytes.length - from);
        this.missing -= consumed;
        from += consumed;
        if (this.missing === 0) ended += 1;
        continue;
      }
      const end = bytes.indexOf(HEADERS_END, from);
      if (end === -1) break;
      const head = bytes.toString('latin1', from, end);
      const length = CONTENT_LENGTH.exec(head)?.[1];
      if (!head.startsWith('HTTP/1.1 20') || length === undefined) throw new Error(`Unexpected response: ${head}`);
      this.missing = Number(length);
      from = end + HEADERS_END.length;
      if (this.missing === 0) ended += 1;
    }
    this.rest = bytes.subarray(from);
    return ended;
  }
}

/**
 * Keeps this process busy until the returned function is called. A turn of the event loop counts as work if a response
 * arrived in it.
 */
const busyWait = (responses: readonly unknown[]) => {
  let [workedMs, lookedAt, known, isOver] = [0, performance.now(), 0, false];
  const look = (): void => {
    const now = performance.now();
    if (responses.length > known) workedMs += now - lookedAt;
    [lookedAt, known] = [now, responses.length];
    if (!isOver) setImmediate(look);
  };
  look();
  /** Stops busy-waiting. @returns the time spent on responses, in ms */
  return (): number => {
    isOver = true;
    return workedMs;
  };
};

const generateLoad = async ({
  host,
  port,
  requests,
  connections,
  ms,
  busyWaits = false,
}: LoadOptions): Promise<LoadResult> => {
  const raw = requests.map((request) => Buffer.from(request));
  const latencies: number[] = [];
  const used = process.cpuUsage();
  const from = performance.now();
  const stopWaiting = busyWaits ? busyWait(latencies) : undefined;
  let next = 0;
  const ask = (socket: Socket): void => {
    socket.write(raw[next++ % raw.length]!);
  };
  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((resolve, reject) => {
          const reader = new ResponseCounter();
          let sentAt = 0;
          const socket = connect({ host, port, noDelay: true }, () => {
            sentAt = performance.now();
            ask(socket);
          });
          socket.on('error', reject).on('close', () => resolve());
          socket.on('data', (chunk: Buffer) => {
            try {
              if (reader.read(chunk) === 0) return;
            } catch (error) {
              reject(error as Error);
              socket.destroy();
              return;
            }
            const now = performance.now();
            latencies.push(now - sentAt);
            if (now - from >= ms) return void socket.destroy();
            sentAt = now;
            ask(socket);
          });
        }),
    ),
  );
  const elapsed = performance.now() - from;
  const { user, system } = process.cpuUsage(used);
  const worked = stopWaiting?.() ?? (user + system) / 1000;
  return {
    perSecond: (latencies.length * 1000) / elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    busy: worked / elapsed,
  };
};

serveParent(generateLoad);
