import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig, TypeOverrides } from 'pg';
import { goThrough } from './pooler/pooled-client.js';
import { type Pooler, poolerAt } from './pooler/pooler.js';
import { Servers } from './servers.js';
import { IS_READ_ONLY } from './statements.js';
import { traceStatements } from './traced-statements.js';

const INT8 = 20;
const NUMERIC = 1700;

/** An int8 as a number: this service's counts, instants and positions all fit, and larger ones must not be rounded. */
const safeInteger = (text: string): number => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`PostgreSQL sent ${text}, which a number cannot hold exactly`);
  return value;
};

/** How PostgreSQL's types arrive, decided here once: int8 as an exact number, sums (numeric) likewise. */
const types = new TypeOverrides();
types.setTypeParser(INT8, safeInteger);
types.setTypeParser(NUMERIC, safeInteger);

/** What a process may spend on the database before it says so: a request is answered within 5 s. Milliseconds. */
const LIMITS = {
  connectionTimeoutMillis: 2_000,
  query_timeout: 4_500,
  statement_timeout: 4_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
} satisfies PoolConfig;

/** Connections that are led to a server, and through the pooler before it. */
const clientOf = (connectionString: string, lead: (client: Client) => Promise<Pooler | undefined>) =>
  class extends Client {
    constructor(config?: ClientConfig) {
      super({ ...config, connectionString });
    }

    override connect(callback?: unknown): Promise<never> {
      // A pool passes a callback; what waits for a promise is not ours.
      const connected = callback as (error: Error) => void;
      void lead(this).then((pooler) => {
        if (pooler !== undefined) goThrough(pooler, this);
        super.connect(connected);
      }, connected);
      return undefined as never;
    }
  };

/** A server that takes no writes is as good as away: another one does, or will. */
const refuseReadOnly =
  (servers: Servers) =>
  (client: PoolClient, done: (error?: Error) => void): void => {
    IS_READ_ONLY.plan(client, {}).then(([row]) => {
      if (!row!.is_read_only) return done();
      servers.refused(client);
      const shown = `${client.host}:${client.port}`;
      done(Object.assign(new Error(`${shown} takes no writes: it is a standby, or read-only`), { code: '25006' }));
    }, done);
  };

/**
 * A pool of connections to the database: to the server that takes the writes, where there are several.
 * @param onConnectionLost called for each idle connection lost; the next statement takes a new one, and says so if that
 *   fails too
 */
export const createPool = (
  connectionString: string,
  onConnectionLost?: (error: Error) => void,
  options: PoolConfig = {},
): Pool => {
  const servers = Servers.of(connectionString);
  const Led = clientOf(servers.connectionString, (client) => servers.lead(client));
  return listened({ Client: Led, verify: refuseReadOnly(servers), ...options }, onConnectionLost);
};

/** The same to one server, whether it takes writes or not. */
export const createReplicaPool = (connectionString: string, options: PoolConfig): Pool =>
  listened({ Client: clientOf(connectionString, () => poolerAt(connectionString)), ...options });

/**
 * How long a connection may be idle. To make one takes a busy server longer than a request may wait, so a pause between
 * two bursts must not cost all of them. ms
 */
const IDLE_MS = 60_000;

const listened = (options: PoolConfig, onConnectionLost: (error: Error) => void = () => {}): Pool => {
  const pool = new Pool({ max: 10, idleTimeoutMillis: IDLE_MS, keepAlive: true, types, ...LIMITS, ...options });
  // Without a listener one that is lost would end the process.
  pool.on('error', onConnectionLost);
  // One that breaks while it is lent out, between two statements, would end the process; the next statement says it.
  pool.on('connect', (client) => client.on('error', () => {}));
  return traceStatements(pool);
};
