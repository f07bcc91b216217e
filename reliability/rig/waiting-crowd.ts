import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Statuses } from './statuses.js';

const AT_ONCE = 50;
const PAUSE_MS = 50;
const RETRY_MS = 1_000;
/** The clients of an address, of which the service limits how many wait. All of 127.0.0.0/8 is loopback on Linux. */
const OF_ADDRESS = 100;
/** The longest response that a client reads, in bytes: an update, not a whole list. */
const MAX_BYTES = 64 * 1024;

/** One connection, which asks again whenever its request was answered. */
class Waiting {
  version: string;
  /** When the version last changed, by `performance.now()`. */
  changedAt = 0;
  private received = '';
  private readonly socket: Socket;

  constructor(
    private readonly crowd: WaitingCrowd,
    version: string,
    localAddress: string,
  ) {
    this.version = version;
    this.socket = connect({ port: Number(new URL(crowd.url).port), host: '127.0.0.1', localAddress });
    this.socket.setEncoding('latin1').on('data', (text: string) => this.read(text));
    this.socket.on('error', () => {});
    this.socket.once('close', () => crowd.isOpen && crowd.statuses.add(0));
    this.ask();
  }

  close(): void {
    this.socket.destroy();
  }

  private ask(): void {
    this.socket.write(
      `GET /v2/lists/all-8b?since=${this.version} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${this.crowd.key}\r\nPrefer: wait=25\r\n\r\n`,
    );
  }

  private read(text: string): void {
    this.received += text;
    const end = this.received.indexOf('\r\n\r\n');
    if (end === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(this.received.slice(0, end))?.[1] ?? 0);
    if (length > MAX_BYTES) this.crowd.findings.push(`A response has ${length} bytes`);
    if (this.received.length < end + 4 + length) return;
    const status = Number(this.received.slice(9, 12));
    const version = /"version":"([^"]+)"/.exec(this.received)?.[1];
    this.received = '';
    this.crowd.statuses.add(status);
    if (version !== undefined && version !== this.version) {
      this.version = version;
      this.changedAt = performance.now();
    }
    if (status === 200) this.ask();
    else setTimeout(() => this.crowd.isOpen && this.ask(), RETRY_MS).unref();
  }
}

/** Clients of one key that wait for changes of `all-8b`, each on a connection of its own. */
export class WaitingCrowd {
  readonly statuses = new Statuses();
  readonly findings: string[] = [];
  isOpen = true;
  private readonly clients: Waiting[] = [];

  constructor(
    readonly url: string,
    readonly key: string,
  ) {}

  /** @param version the present version of the list */
  async add(count: number, version: string): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const address = `127.0.1.${1 + Math.floor(this.clients.length / OF_ADDRESS)}`;
      this.clients.push(new Waiting(this, version, address));
      // Connections are opened and closed slowly, because floods are another attack.
      if (n % AT_ONCE === AT_ONCE - 1) await sleep(PAUSE_MS);
    }
  }

  /** Returns when each client got a version other than `version`, in ms after `since`; undefined until all have one. */
  changedSince(version: string, since: number): number[] | undefined {
    if (this.clients.some((client) => client.version === version)) return undefined;
    return this.clients.map(({ changedAt }) => changedAt - since);
  }

  async close(): Promise<void> {
    this.isOpen = false;
    for (const [n, client] of this.clients.entries()) {
      client.close();
      if (n % AT_ONCE === AT_ONCE - 1) await sleep(PAUSE_MS);
    }
  }
}
