import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { RowOf } from '../statement.js';
import { BACKEND_OF } from '../statements.js';

/** What stands between this process and PostgreSQL. */
export interface Pooler {
  readonly url: string;
  /** It may give each transaction another connection of the server. */
  readonly mixesSessions: boolean;
  /** A named statement follows its client to each connection: PgBouncer from 1.21 on, with `max_prepared_statements`. */
  readonly keepsNames: boolean;
}

const LIMITS = { connectionTimeoutMillis: 2_000, query_timeout: 2_000 };
/** Of a pooler that other processes use too, two clients may get different connections by chance. */
const ROUNDS = 10;

/** What PostgreSQL says of a name that is taken, or that it does not know. */
export const NAME_CODES: ReadonlySet<unknown> = new Set<unknown>(['42P05', '26000']);

/** The process that the server at the other end of the client says it is: a pooler makes its own number up. */
const announced = (client: Client): number => (client as unknown as { processID: number }).processID;

const open = async (connectionString: string): Promise<Client> => {
  const client = new Client({ connectionString, ...LIMITS });
  client.on('error', () => {});
  await client.connect();
  return client;
};

/** Lets two clients prepare different statements under one name, in turn, and looks which processes of the server answer. */
const watchTurns = async (clients: readonly [Client, Client]): Promise<Omit<Pooler, 'url'>> => {
  const name = `pooler-${randomUUID()}`;
  const seen = [new Set<number>(), new Set<number>()] as const;
  for (let round = 0; round < ROUNDS; round += 1)
    for (const whose of [0, 1] as const)
      try {
        const { rows } = await clients[whose].query({ ...BACKEND_OF[whose].query({}), name });
        const row = rows[0] as RowOf<(typeof BACKEND_OF)[0]>;
        // Another client's statement of this name.
        if (row.whose !== whose) return { mixesSessions: true, keepsNames: false };
        seen[whose].add(row.pid);
      } catch (error) {
        if (!NAME_CODES.has((error as { code?: unknown }).code)) throw error;
        return { mixesSessions: true, keepsNames: false };
      }
  const all = new Set(seen.flatMap((pids) => [...pids]));
  return { mixesSessions: all.size !== seen.length || seen.some(({ size }) => size > 1), keepsNames: true };
};

const findPooler = async (url: string): Promise<Pooler | undefined> => {
  const first = await open(url);
  try {
    const [row] = await BACKEND_OF[0].plan(first, {});
    if (row!.pid === announced(first)) return undefined;
    const second = await open(url);
    const way = await watchTurns([first, second]).finally(() => void second.end().catch(() => {}));
    return { url, ...way };
  } finally {
    void first.end().catch(() => {});
  }
};

const found = new Map<string, Promise<Pooler | undefined>>();

/**
 * Looks once, until it is told to forget.
 * @param url of one server
 * @returns undefined if PostgreSQL itself answers there
 * @throws what a connection throws; the next call looks again
 */
export const poolerAt = (url: string): Promise<Pooler | undefined> => {
  const known = found.get(url);
  if (known !== undefined) return known;
  const looking = findPooler(url);
  found.set(url, looking);
  looking.catch(() => found.delete(url));
  return looking;
};

/** The pooler at this address turned out to be another one. */
export const forgetPoolerAt = (url: string): void => void found.delete(url);
