import { Client } from 'pg';
import { tellAs } from '../runtime/log-line.js';
import { type Place, placeOf, serverUrls, shownServer } from './database-url.js';
import { type Pooler, poolerAt } from './pooler/pooler.js';
import { STANDING } from './statements.js';

/** How often all servers of a `DATABASE_URL` with several are looked at. ms */
const LOOK_EVERY_MS = 2_000;
/** After a look that found none, or a connection that was lost. ms */
const LOOK_AGAIN_MS = 250;
const LOOK_MS = 1_000;

/** A connection as this file needs it; `connection` is `pg`'s own, which its types leave out. */
interface Wire {
  readonly connection: {
    readonly stream: { destroy(error?: Error): void };
    on(event: 'errorMessage', listener: (message: { code?: string }) => void): void;
  };
}

const wireOf = (client: Client): Wire['connection'] => (client as unknown as Wire).connection;

/** Refused writes: a standby, or a server that was made read-only. */
const READ_ONLY = '25006';

/** @returns undefined if it takes no writes, or does not answer; else its timeline, which each promotion increases */
const look = async (url: string): Promise<number | undefined> => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: LOOK_MS, query_timeout: LOOK_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    const [row] = await STANDING.plan(client, {});
    return row!.timeline ?? undefined;
  } catch {
    return undefined;
  } finally {
    wireOf(client).stream.destroy();
  }
};

/**
 * The servers that one `DATABASE_URL` names, and which of them takes writes. All pools of a process with this address
 * share it: where one finds that its server takes no writes any more, all connections to that server are destroyed.
 */
export class Servers {
  private static readonly known = new Map<string, Servers>();
  private readonly urls: readonly string[];
  /** Of several servers; a single address is left to `pg`, which knows sockets too. */
  private readonly places: readonly Place[];
  private readonly open = new Map<Client, number>();
  private current = 0;
  /** None with a lower one is the primary: it was one, and has not noticed that another was promoted. */
  private timeline = 0;
  /** Whether the last look found it, and nothing has spoken against it since. */
  private isSure = false;
  private looking: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private dueAt = 0;

  private constructor(url: string) {
    this.urls = serverUrls(url);
    this.places = this.urls.length > 1 ? this.urls.map(placeOf) : [];
  }

  /** @throws ConfigError */
  static of(url: string): Servers {
    const known = Servers.known.get(url) ?? new Servers(url);
    Servers.known.set(url, known);
    return known;
  }

  /** Of the first server; `lead` says which one is connected to. */
  get connectionString(): string {
    return this.urls[0]!;
  }

  /**
   * Leads a new connection to the server that takes writes, as far as is known. Where that is in doubt, it waits for the
   * look under way: two seconds at most. A look that only confirms it may be waiting for a server that is frozen.
   * @returns the pooler before that server
   * @throws what a connection throws
   */
  async lead(client: Client): Promise<Pooler | undefined> {
    const isWatched = (): boolean => this.urls.length === 1 || this.timer !== undefined || this.looking !== undefined;
    if (!isWatched()) await this.lookAgain();
    if (!this.isSure) await this.looking;
    const server = this.current;
    this.open.set(client, server);
    if (!isWatched()) this.lookIn(LOOK_EVERY_MS);
    client.once('end', () => this.closed(client));
    wireOf(client).on('errorMessage', ({ code }) => {
      if (code === READ_ONLY) this.refused(client);
    });
    if (this.urls.length > 1) Object.assign(client, this.places[server]);
    try {
      return await poolerAt(this.urls[server]!);
    } catch (error) {
      this.closed(client);
      throw error;
    }
  }

  /** The server of this connection took no writes. */
  refused(client: Client): void {
    const server = this.open.get(client);
    if (server === undefined) return;
    if (server === this.current) this.isSure = false;
    if (this.urls.length > 1) void this.lookAgain();
    else this.leave(server);
  }

  private closed(client: Client): void {
    const server = this.open.get(client);
    this.open.delete(client);
    if (this.urls.length === 1 || server !== this.current) return;
    this.isSure = false;
    this.lookIn(LOOK_AGAIN_MS);
  }

  private leave(server: number): void {
    const shown = shownServer(this.urls[server]!);
    for (const [client, its] of this.open)
      if (its === server) wireOf(client).stream.destroy(new Error(`Connection terminated: ${shown} takes no writes`));
  }

  /** Nobody needs to know while nobody is connected: the next connection begins with a look. */
  private lookIn(ms: number): void {
    const at = performance.now() + ms;
    // Connections that fail one after the other must not put it off.
    if (this.timer !== undefined && this.open.size > 0 && this.dueAt <= at) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.dueAt = at;
    if (this.open.size === 0) return;
    this.timer = setTimeout(() => {
      // One that ends during a look would be taken for one that is still to come.
      this.timer = undefined;
      void this.lookAgain();
    }, ms).unref();
  }

  /** Single flight. */
  private lookAgain(): Promise<void> {
    this.looking ??= this.findPrimary().finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async findPrimary(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const timelines = await Promise.all(this.urls.map(look));
    const best = Math.max(-1, ...timelines.map((timeline) => timeline ?? -1));
    const isFound = best >= this.timeline;
    this.isSure = isFound;
    if (isFound) {
      this.timeline = best;
      const before = this.current;
      if (timelines[before] !== best) {
        this.current = timelines.indexOf(best);
        tellAs('database')(`${shownServer(this.urls[this.current]!)} takes the writes now`, 'warn');
      }
      for (const server of this.urls.keys()) if (server !== this.current) this.leave(server);
    }
    this.lookIn(isFound ? LOOK_EVERY_MS : LOOK_AGAIN_MS);
  }
}
