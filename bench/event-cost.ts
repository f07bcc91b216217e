import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { cloudEvent } from '../test/support/upstream.js';
import { requireEqual } from './equal.js';
import { upstreamEvents } from './events.js';
import { formatAmount, type Bench, type Goal, type Measured } from './goal.js';
import { type Installation, processorTime, processTree, startInstallation } from './installation.js';
import { marten, tableOfStates } from './peers/event-peers.js';
import { post } from './post.js';
import { quartilesOf } from './statistics.js';

const MAX_EVENTS = 200_000;
const BATCH = 1_000;
/** Requests in flight, as a fast sender would keep. */
const SENDERS = 4;
const TIMEOUT_MS = 300_000;
const POLL_MS = 200;
const BACK_OFF_MS = 1_000;

interface Filled {
  readonly installation: Installation;
  readonly events: number;
  /** What the events cost until all read models had them. */
  readonly cost: Cost;
  /** The number of counted threats. */
  readonly threats: number;
}

interface Cost {
  /** The processor time of all processes and PostgreSQL, in ms. */
  readonly processorMs: number;
  /** Write-ahead log, in bytes. */
  readonly wal: number;
  /** The size of the database, in bytes. */
  readonly size: number;
}

/** Returns what an installation has cost since it was started. */
const costOf = async ({ pid, database }: Installation): Promise<Cost> => {
  const { rows } = await database.pool.query<Omit<Cost, 'processorMs'>>(
    `select (pg_current_wal_lsn() - '0/0')::float8 as wal, pg_database_size(current_database())::float8 as size`,
  );
  return { ...rows[0]!, processorMs: processorTime(processTree(pid)) };
};

/** Repeats a request that is refused because too many events wait to be counted, as a sender should. */
const untilAccepted = async <T>(send: () => Promise<T>): Promise<T> => {
  for (const end = performance.now() + TIMEOUT_MS; ; await sleep(BACK_OFF_MS))
    try {
      return await send();
    } catch (error) {
      if (performance.now() > end || !/returned 429/.test((error as Error).message)) throw error;
    }
};

const sendAll = async ({ url }: Installation, key: string, events: number): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
  const sent = upstreamEvents(events);
  const batches = Array.from({ length: Math.ceil(events / BATCH) }, (_, n) => sent.slice(n * BATCH, (n + 1) * BATCH));
  const waiting = batches.values();
  let stored = 0;
  const send = async (): Promise<void> => {
    for (const batch of waiting) {
      const body = Buffer.from(JSON.stringify(batch.map((event) => cloudEvent(event))));
      const answer = await untilAccepted(() => post(agent, url, key, body));
      // Duplicates are of a batch that was stored in part before it was refused.
      stored += answer.accepted + answer.duplicates;
    }
  };
  try {
    await Promise.all(Array.from({ length: SENDERS }, send));
  } finally {
    agent.destroy();
  }
  requireEqual('stored events', events, stored);
};

/** Waits until every projection has reached the end of the log. @throws Error after five minutes */
const untilProjected = async (pool: Pool): Promise<void> => {
  for (const end = performance.now() + TIMEOUT_MS; performance.now() < end; await sleep(POLL_MS)) {
    const { rows } = await pool.query<{ isReached: boolean }>(
      `select min(position) >= (select max(position) from log.events) as "isReached" from read.checkpoints`,
    );
    if (rows[0]!.isReached) return;
  }
  throw new Error(`The projections did not reach the end of the log within ${TIMEOUT_MS / 1_000} s`);
};

/** Starts an installation and sends events to it, once per run. */
export const filledInstallation = (bench: Bench): Promise<Filled> =>
  bench.shared('filled installation', async () => {
    const events = Math.min(bench.sizes.events, MAX_EVENTS);
    const installation = await startInstallation(bench);
    const key = await installation.issueKey(['ingest']);
    await untilProjected(installation.database.pool);
    bench.say(`Sends ${formatAmount(events)} events`);
    const before = await costOf(installation);
    await sendAll(installation, key, events);
    bench.say('All events are acknowledged');
    await untilProjected(installation.database.pool);
    const after = await costOf(installation);
    const { rows } = await installation.database.pool.query<{ n: number }>(
      `select sum(n)::float8 as n from read.type_days`,
    );
    if (!(rows[0]!.n > events / 10)) throw new Error(`The metrics have only ${rows[0]!.n} threats`);
    const cost = {
      processorMs: after.processorMs - before.processorMs,
      wal: after.wal - before.wal,
      size: after.size - before.size,
    };
    return { installation, events, cost, threats: rows[0]!.n };
  });

const EVENT = 'an event from POST /v2/events to all read models';

/** Compares the costs with those of peers. A comparison of two builds does not need them. */
const againstPeers = async (bench: Bench, { events, cost, threats }: Filled): Promise<readonly Measured[]> => {
  if (process.env['BENCH_BUILD'] !== undefined) return [];
  const peers = [
    ['Marten', 'Marten 9.58, appended and counted', await marten(bench, events, threats), 1],
    [
      'a table of states',
      'a table of the newest states, counted when asked',
      await tableOfStates(bench, events, threats),
      undefined,
    ],
  ] as const;
  return peers.flatMap(([name, against, peer, must]) => {
    if (peer === undefined) return [];
    const figures = [
      ['processor time', cost.processorMs * 1_000, peer.processorMs * 1_000, 'µs'],
      ['write-ahead log', cost.wal, peer.wal, 'bytes'],
    ] as const;
    return figures.map(([what, own, other, unit]) => ({
      what: `${EVENT}: ${what} against ${name}`,
      against,
      measured: quartilesOf([own / other]),
      unit: '×',
      must,
      more: false,
      note: `${formatAmount(own / events)} against ${formatAmount(other / events)} ${unit}`,
    }));
  });
};

/** Measures what an event costs from `POST /v2/events` to all read models. */
export const eventCost: Goal = {
  name: 'G29',
  startsAnyBuild: true,
  run: async (bench) => {
    const filled = await filledInstallation(bench);
    const { events, cost } = filled;
    const figures = [
      ['processor time of all processes and PostgreSQL', cost.processorMs * 1_000, 'µs', 0.55, 0.4],
      ['write-ahead log', cost.wal, 'bytes', 0.5, 0.35],
      ['growth of the database', cost.size, 'bytes', 0.5, 0.35],
    ] as const;
    const lines = figures.map(([what, figure, unit, must, aim]) => ({
      what: `${EVENT}: ${what}`,
      against: '-',
      measured: quartilesOf([figure / events]),
      unit,
      ofOtherBuild: { must, aim },
      more: false,
      note: `${formatAmount(events)} events`,
    }));
    return [...lines, ...(await againstPeers(bench, filled))];
  },
};
