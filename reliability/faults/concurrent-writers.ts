import { NO_LIMITS } from '../../test/support/postgres.js';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { BEGINNING, type EventLog, type NewEvent } from '../../src/event-log/event-log.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { createPool } from '../../src/postgres/pool.js';
import { eventually } from '../../test/support/eventually.js';
import { stored } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { upstream } from '../rig/load.js';
import type { RunContext } from '../rig/run-context.js';

const WRITERS = 16;
/** The page size of a subscription. */
const PAGE = 1_000;
const HELD_MS = 250;

type Entry = { readonly stream: string; readonly event: NewEvent };

/** A log with concurrent writers and a reader that reads by position. */
interface Store {
  /** Writes the events in one transaction. */
  write(entries: readonly Entry[]): Promise<void>;
  /** Writes the events in a transaction that waits before it commits or rolls back. */
  hold(entries: readonly Entry[], end: 'commit' | 'rollback'): Promise<void>;
  follow(onId: (id: string) => void, signal: AbortSignal): Promise<void>;
}

const poolFor = (context: RunContext, url: string, max: number): Pool => {
  const pool = createPool(url, () => {}, { ...NO_LIMITS, max });
  context.onEnd(() => pool.end());
  return pool;
};

const holdOn = async (
  pool: Pool,
  write: string,
  values: unknown[],
  end: string,
  untilPassed = async (): Promise<void> => {},
): Promise<void> => {
  const connection = await pool.connect();
  try {
    await connection.query('begin');
    await connection.query(write, values);
    await sleep(HELD_MS);
    await untilPassed();
    await connection.query(end);
  } finally {
    connection.release();
  }
};

const APPEND = `select log.append(array_fill(0, array[cardinality($1::uuid[])]), $2, array_fill(null::bigint, array[cardinality($1::uuid[])]), $1, $3, $4, $5)`;

/** The log of the service, with separate connections for each writer. */
const theLog = async (context: RunContext, url: string): Promise<Store> => {
  const logs: EventLog[] = [];
  for (let n = 0; n <= WRITERS; n += 1) logs.push(await createPostgresLog(poolFor(context, url, 2)));
  const holder = poolFor(context, url, 1);
  let next = 0;
  return {
    write: async (entries) => void (await logs[next++ % WRITERS]!.appendAll(entries)),
    hold: async (entries, end) => {
      const events = entries.map(({ event }) => event);
      const values = [
        events.map(({ id }) => id),
        entries.map(({ stream }) => stream),
        events.map(({ type }) => type),
        events.map(({ data }) => JSON.stringify(data)),
        events.map(({ metadata }) => JSON.stringify(metadata)),
      ];
      await holdOn(holder, APPEND, values, end);
    },
    follow: (onId, signal) =>
      logs[WRITERS]!.subscribe(BEGINNING, async ({ events }) => events.forEach(({ id }) => onId(id)), signal),
  };
};

/**
 * A naive log with positions from an identity column, which are assigned before the commit. A held transaction lasts
 * until the reader has read a later position, so that the reader misses its events on any machine.
 */
const identityColumn = async (context: RunContext, url: string): Promise<Store> => {
  const pool = poolFor(context, url, WRITERS + 2);
  await pool.query('create table events (position bigint generated always as identity primary key, id uuid not null)');
  const insert = 'insert into events (id) select unnest($1::uuid[])';
  let read = 0;
  const readerHasPassed = async (): Promise<void> => {
    const { rows } = await pool.query<{ position: number }>(`${insert} returning position`, [[randomUUID()]]);
    await eventually('the reader has read a later position', () => read >= rows[0]!.position);
  };
  return {
    write: async (entries) => {
      const connection = await pool.connect();
      try {
        await connection.query('begin');
        await connection.query(insert, [entries.map(({ event }) => event.id)]);
        await connection.query('commit');
      } finally {
        connection.release();
      }
    },
    hold: (entries, end) => holdOn(pool, insert, [entries.map(({ event }) => event.id)], end, readerHasPassed),
    follow: async (onId, signal) => {
      while (!signal.aborted) {
        const { rows } = await pool.query<{ position: number; id: string }>(
          `select position, id from events where position > $1 order by position limit ${PAGE}`,
          [read],
        );
        for (const { id } of rows) onId(id);
        read = rows.at(-1)?.position ?? read;
        if (rows.length < PAGE) await sleep(5);
      }
    },
  };
};

const writeAtOnce = async (
  context: RunContext,
  events: number,
  open: (context: RunContext, url: string) => Promise<Store>,
): Promise<Outcome> => {
  const { random } = context;
  const database = await context.database({ migrated: false });
  const store = await open(context, database.url);
  const handed = new Map<string, number>();
  const stop = new AbortController();
  const following = store.follow((id) => handed.set(id, (handed.get(id) ?? 0) + 1), stop.signal);
  const source = upstream(random);
  const nextEntries = (n: number): Entry[] => Array.from({ length: n }, () => stored(source.next().value as never));
  const written: string[] = [];
  const rolledBack: string[] = [];
  const recordWritten = (entries: readonly Entry[]): void => void written.push(...entries.map(({ event }) => event.id));
  const write = async (n: number): Promise<void> => {
    const entries = nextEntries(n);
    await store.write(entries);
    recordWritten(entries);
  };
  // A transaction at the end of the first page rolls back, which may leave a gap; the next one waits while others
  // write.
  await write(PAGE - 2);
  const firstEntries = nextEntries(3);
  await store.hold(firstEntries, 'rollback');
  rolledBack.push(...firstEntries.map(({ event }) => event.id));
  const hold = async (): Promise<void> => {
    const heldEntries = nextEntries(3);
    await store.hold(heldEntries, 'commit');
    recordWritten(heldEntries);
  };
  let holding = hold();
  let holds = 1;
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      while (written.length < events) {
        await write(1 + random.int(20));
        if (writer > 0) continue;
        context.reportProgress(`${written.length} of ${events} written`);
        if (random.chance(0.02)) {
          await holding;
          holding = hold();
          holds += 1;
        }
      }
    }),
  );
  await holding;
  // The reader reads in order of positions, so once it has this event it will not return to earlier ones.
  await write(1);
  await eventually('the reader has the last event', () => handed.has(written.at(-1)!));
  stop.abort();
  await following;
  const missed = written.filter((id) => !handed.has(id)).length;
  const twice = written.filter((id) => (handed.get(id) ?? 0) > 1).length;
  const deliveredAfterRollback = rolledBack.filter((id) => handed.has(id)).length;
  return {
    workload: `${WRITERS} writers, ${written.length} events, ${holds} transactions held for ${HELD_MS} ms, one rolled back at a page boundary`,
    observed: `${missed} missed`,
    findings: [
      ...(missed > 0 ? [`${missed} of ${written.length} events were never delivered to the reader`] : []),
      ...(twice > 0 ? [`${twice} events were delivered twice`] : []),
      ...(deliveredAfterRollback > 0 ? [`${deliveredAfterRollback} events that were rolled back were delivered`] : []),
    ],
  };
};

export const concurrentWriters: Scenario<{ readonly events: number }> = {
  name: 'F9',
  what: '16 writers, held transactions, a gap at the boundary of a page',
  full: { events: 200_000 },
  everyChange: { events: 4_000 },
  run: (context, { events }) => writeAtOnce(context, events, theLog),
  guard: 'positions are assigned in commit order',
  controlScale: { events: 4_000 },
  withoutGuard: (context, { events }) => writeAtOnce(context, events, identityColumn),
  controlFinding: /events were never delivered to the reader$/,
};
