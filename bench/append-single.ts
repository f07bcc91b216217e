import type { Pool } from 'pg';
import type { EventLog } from '../src/event-log/event-log.js';
import { requireEqual } from './equal.js';
import { storedEvents, upstreamEvents } from './events.js';
import { type Goal, type Growth, measure, type Measured, rates } from './goal.js';
import { inParallel } from './paired.js';
import { openLog } from './services.js';

const INSERT = { name: 'bench-insert', text: 'insert into bench.plain (n) values ($1)' };

/** Appends single events, each to a new stream, as the ingestion endpoint does with requests of one event. */
const appendOne = (log: EventLog): (() => Promise<unknown>) => {
  // Created before the measurement; each append turns one of them into a new event by inserting a number.
  const templates = storedEvents(upstreamEvents(1_000, 998));
  let n = 0;
  return () => {
    const { stream, event } = templates[(n += 1) % templates.length]!;
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    return log.appendAll([{ stream: `${stream}-${n}`, event: { ...event, id } }]);
  };
};

const insertOne = (pool: Pool): (() => Promise<unknown>) => {
  let n = 0;
  return () => pool.query({ ...INSERT, values: [n++] });
};

/**
 * Compares a durable append of one event with the smallest durable write: inserting one number into a table without an
 * index.
 */
export const appendSingle: Goal = {
  name: 'G5',
  run: async (bench) => {
    const database = await bench.database();
    const { pool } = database;
    await pool.query('create schema bench; create table bench.plain (n bigint not null)');
    const log = await openLog(bench, database);
    const before = await log.head();
    const once = storedEvents(upstreamEvents(3, 999));
    const areDuplicates = async (): Promise<boolean[]> => (await log.appendAll(once)).map(({ duplicate }) => duplicate);
    requireEqual(
      'first append, then repeated append',
      [[false, false, false], [true, true, true], 3n],
      [await areDuplicates(), await areDuplicates(), (await log.head()) - before],
    );
    const append = appendOne(log);
    const lines: Measured[] = [];
    for (const writers of [1, 16]) {
      const paired = await measure(bench, `G5 ${writers} at a time`, {
        base: inParallel(writers, insertOne(pool)),
        target: inParallel(writers, append),
      });
      lines.push({
        what: `a durable append of 1 event, ${writers === 1 ? '1 writer' : `${writers} writers`}`,
        against: 'one-column insert + commit',
        measured: paired.ratio,
        must: writers === 1 ? 0.6 : 0.9,
        aim: writers === 1 ? 0.74 : 0.95,
        note: rates(paired, 'per second'),
      });
    }
    const rows: Growth['rows'][number][] = [];
    for (const size of bench.sizes.quick ? [1, 10] : [1, 10, 100, 1_000]) {
      const events = storedEvents(upstreamEvents(bench.sizes.quick ? 100 : 20_000, 7_000 + size));
      const from = performance.now();
      let done = 0;
      while (done < events.length && performance.now() - from < 2_000) {
        await log.appendAll(events.slice(done, done + size));
        done += size;
      }
      rows.push([size, Math.round((done * 1000) / (performance.now() - from)).toLocaleString('en-US')]);
    }
    bench.keepGrowth({ what: 'Appends by batch size', columns: ['events', 'events per second'], rows });
    return lines;
  },
};
