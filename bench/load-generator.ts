/**
 * A load generator: sends requests over keep-alive connections as fast as the server responds. It does as little work
 * per request as possible, so that the server is measured.
 */
import { connect, type Socket } from 'node:net';
import { answerParent } from './process.js';
import { quantile } from './statistics.js';

export interface Volley {
  readonly host: string;
  readonly port: number;
  /** Complete requests, headers and body, sent in turn. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly ms: number;
  /**
   * Whether this process busy-waits. Waking a sleeping process costs a virtual machine as much as a response from
   * memory, and only a server that is slower than the generator pays for it. Default: the process sleeps.
   */
  readonly awake?: boolean;
}

export interface Answers {
  readonly perSecond: number;
  /** Latencies in ms. */
  readonly p50: number;
  readonly p99: number;
  /** The share of time in which this process was busy. Near 1, the generator is measured instead of the server. */
  readonly busy: number;
}

const HEADERS_END = Buffer.from('\r\n\r\n');
const CONTENT_LENGTH = /\r\ncontent-length: (\d+)/i;

/** Counts the responses in the bytes that arrive on a connection. */
class AnswerReader {
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes of the current body that have not arrived yet. */
  private open = 0;

  /** @returns the number of responses that ended in this chunk */
  read(chunk: Buffer): number {
    let ended = 0;
    let from = 0;
    const bytes = this.rest.length > 0 ? Buffer.concat([this.rest, chunk]) : chunk;
    while (from < bytes.length) {
      if (this.open > 0) {
        const taken = Math.min(this.open, bytes.length - from);
        this.open -= taken;
        from += taken;
        if (this.open === 0) ended += 1;
        continue;
      }
      const end = bytes.indexOf(HEADERS_END, from);
      if (end === -1) break;
      const head = bytes.toString('latin1', from, end);
      const length = CONTENT_LENGTH.exec(head)?.[1];
      if (!head.startsWith('HTTP/1.1 20') || length === undefined) throw new Error(`Unexpected response: ${head}`);
      this.open = Number(length);
      from = end + HEADERS_END.length;
      if (this.open === 0) ended += 1;
    }
    this.rest = bytes.subarray(from);
    return ended;
  }
}

/** Keeps this process busy until the returned function is called. */
const stayAwake = (answers: readonly unknown[]) => {
  let [worked, looked, known, isOver] = [0, performance.now(), 0, false];
  const look = (): void => {
    const now = performance.now();
    if (answers.length > known) worked += now - looked;
    [looked, known] = [now, answers.length];
    if (!isOver) setImmediate(look);
  };
  look();
  /** Stops. @returns the time in which responses arrived, in ms */
  return (): number => {
    isOver = true;
    return worked;
  };
};

const fire = async ({ host, port, requests, connections, ms, awake = false }: Volley): Promise<Answers> => {
  const raw = requests.map((request) => Buffer.from(request));
  const latencies: number[] = [];
  const used = process.cpuUsage();
  const from = performance.now();
  const sleepAgain = awake ? stayAwake(latencies) : undefined;
  let next = 0;
  const ask = (socket: Socket): void => {
    socket.write(raw[next++ % raw.length]!);
  };
  await Promise.all(
    Array.from(
      { length: connections },
      () =>
        new Promise<void>((resolve, reject) => {
          const reader = new AnswerReader();
          let asked = 0;
          const socket = connect({ host, port, noDelay: true }, () => {
            asked = performance.now();
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
            latencies.push(now - asked);
            if (now - from >= ms) return void socket.destroy();
            asked = now;
            ask(socket);
          });
        }),
    ),
  );
  const elapsed = performance.now() - from;
  const { user, system } = process.cpuUsage(used);
  const worked = sleepAgain?.() ?? (user + system) / 1000;
  return {
    perSecond: (latencies.length * 1000) / elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    busy: worked / elapsed,
  };
};

answerParent(fire);
