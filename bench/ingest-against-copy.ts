import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { cloudEvent } from '../test/support/upstream.js';
import { copyRows } from './copy.js';
import { requireEqual } from './equal.js';
import { storedEvents, upstreamEvents } from './events.js';
import { type Goal, measure, rates } from './goal.js';
import { post } from './post.js';
import { issueKeys, startApi } from './services.js';

const BATCH = 1_000;
/** Requests in flight, as a fast sender would keep. */
const SENDERS = 4;
/** Compares ingesting full batches with a COPY of the stored rows into a table with the same indexes. */
export const ingestAgainstCopy: Goal = {
  name: 'G5b',
  run: async (bench) => {
    const database = await bench.database();
    const { url } = await startApi(bench, database);
    const { pool } = database;
    const [key] = await issueKeys(database, ['ingest'], [undefined]);
    const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });
    await pool.query('create schema bench; create table bench.events (like log.events including all)');

    // All batches have the same events, with different ids and records. The template is created before the measurement.
    let batches = 0;
    const events = upstreamEvents(BATCH, 6);
    const text = JSON.stringify(events.map((event) => cloudEvent({ ...event, id: `@@${event.id}` }))).replaceAll(
      /"(threatId|reportId|takedownId)":"/g,
      '"$1":"@@',
    );
    const nextBody = (): Buffer => Buffer.from(text.replaceAll('@@', `${(batches += 1)}.`));
    let position = 0;
    const revisions = new Map<string, number>();
    const stored = storedEvents(events).map((entry) => {
      const revision = (revisions.get(entry.stream) ?? -1) + 1;
      revisions.set(entry.stream, revision);
      return { ...entry, revision };
    });
    const nextRows = (): string => {
      const prefix = `${(batches += 1)}.`;
      return stored
        .map(({ stream, revision, event: { type, data, metadata } }) => {
          position += 1;
          const cells = [
            position,
            prefix + stream,
            revision,
            randomUUID(),
            type,
            JSON.stringify(data),
            JSON.stringify(metadata),
          ];
          return `${[...cells, 1_767_225_600_000].join('\t').replaceAll('\\', '\\\\')}\n`;
        })
        .join('');
    };

    const body = nextBody();
    const before = await pool.query<{ n: number }>('select count(*) as n from log.events');
    const counts = async () => {
      const { accepted, duplicates, rejected } = await post(agent, url, key!, body);
      return { accepted, duplicates, rejected };
    };
    requireEqual('a batch', { accepted: BATCH, duplicates: 0, rejected: [] }, await counts());
    requireEqual('the batch again', { accepted: 0, duplicates: BATCH, rejected: [] }, await counts());
    const after = await pool.query<{ n: number }>('select count(*) as n from log.events');
    requireEqual('events in the log', BATCH, after.rows[0]!.n - before.rows[0]!.n);

    const slice = (work: () => Promise<() => Promise<number>>) => async (ms: number) => {
      let elapsed = 0;
      let done = 0;
      while (elapsed < ms) {
        const send = await work();
        const from = performance.now();
        done += await send();
        elapsed += performance.now() - from;
      }
      return (done * 1000) / elapsed;
    };
    const paired = await measure(bench, 'G5b', {
      base: slice(() => {
        const rows = nextRows();
        return Promise.resolve(async () => {
          await copyRows(pool, 'bench.events', rows);
          return BATCH;
        });
      }),
      target: slice(() => {
        const bodies = Array.from({ length: SENDERS * 4 }, nextBody);
        return Promise.resolve(async () => {
          let sent = 0;
          const sendBodies = async (): Promise<void> => {
            for (let next = bodies.pop(); next; next = bodies.pop()) {
              const { accepted } = await post(agent, url, key!, next);
              sent += accepted;
            }
          };
          await Promise.all(Array.from({ length: SENDERS }, sendBodies));
          return sent;
        });
      }),
    });
    agent.destroy();
    return [
      {
        what: `POST /v2/events, batches of ${BATCH.toLocaleString('en-US')}, accepted and durable`,
        against: 'COPY of the same rows',
        measured: paired.ratio,
        must: 0.2,
        aim: 0.35,
        note: rates(paired, 'events per second'),
      },
    ];
  },
};
