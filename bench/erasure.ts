import { execFile } from 'node:child_process';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LARGEST_ORGANIZATION } from './facts.js';
import { formatAmount, type Goal } from './goal.js';
import { requestJson } from './load.js';
import { growLog } from './log-work.js';
import { post } from './post.js';
import { issueKeys, openLog, startApi, startProjector } from './services.js';
import { SINGLE_TYPE, threatOf } from './single-events.js';
import { CLI } from './installation.js';
import { quantile, quartilesOf } from './statistics.js';

const OTHER = 'org-2';
/** How often a query and an event are sent. */
const INTERVAL_MS = 50;
const QUIET_MS = 60_000;

/**
 * Makes calls at a constant rate until `stop` aborts.
 * @returns the time from the instant at which each call was due until its response, in ms
 */
const latenciesOf = async (call: (n: number) => Promise<unknown>, stop: AbortSignal): Promise<number[]> => {
  const latencies: number[] = [];
  const calls: Promise<unknown>[] = [];
  const from = performance.now();
  for (let n = 0; !stop.aborted; n += 1) {
    const due = from + n * INTERVAL_MS;
    await sleep(Math.max(0, due - performance.now()));
    const answered = call(n).then(() => latencies.push(performance.now() - due));
    // A call that fails makes the goal fail at the end.
    answered.catch(() => {});
    calls.push(answered);
  }
  await Promise.all(calls);
  return latencies;
};

const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, n) => sum + n, 0);

/**
 * Measures how the erasure of the largest organization, which has about a fifth of all events, delays the requests of
 * another organization.
 */
export const erasure: Goal = {
  name: 'G25',
  run: async (bench) => {
    const { quick, facts: events } = bench.sizes;
    const database = await bench.database();
    await growLog(bench, { database, log: await openLog(bench, database), events: 0 }, events);
    await database.pool.query('vacuum analyze');
    await database.pool.query('checkpoint');
    const { url } = await startApi(bench, database);
    const env = await startProjector(bench, database);
    const [reader] = await issueKeys(database, ['read'], [OTHER]);
    const [sender] = await issueKeys(database, ['ingest'], [undefined]);
    const agent = new Agent({ keepAlive: true, maxSockets: 32 });
    bench.onEnd(() => Promise.resolve(agent.destroy()));
    let windows = 0;
    /** @returns the p99 of both requests of the other organization during some work, in ms */
    const p99During = async (work: Promise<unknown>) => {
      const [stop, window] = [new AbortController(), (windows += 1)];
      const query = () => requestJson(url, reader!, { method: 'GET', path: '/v2/organization/metrics' });
      const send = (n: number) => post(agent, url, sender!, threatOf(OTHER, `during-${window}-${n}`, n), SINGLE_TYPE);
      const latencies = Promise.all([latenciesOf(query, stop.signal), latenciesOf(send, stop.signal)]);
      await work.finally(() => stop.abort());
      return (await latencies).map((each) => quantile(each, 0.99)) as [metrics: number, events: number];
    };
    await p99During(sleep(quick ? 500 : QUIET_MS / 10));
    const quiet = await p99During(sleep(quick ? 500 : QUIET_MS));
    const words = ['organizations', 'erase', LARGEST_ORGANIZATION, '--confirm', LARGEST_ORGANIZATION, '--json'];
    const from = performance.now();
    const command = promisify(execFile)(process.execPath, [CLI, ...words], { env: { ...process.env, ...env } });
    const busy = await p99During(command);
    const seconds = (performance.now() - from) / 1_000;
    const certificate = JSON.parse((await command).stdout) as Record<'events' | 'rows', Record<string, number>>;
    const [erased, rows] = [sumOf(certificate.events), sumOf(certificate.rows)];
    return (['GET /v2/organization/metrics', 'POST /v2/events'] as const).map((what, index) => ({
      what: `an organization with a fifth of ${formatAmount(events)} events is erased: ${what} of another, p99`,
      against: 'before the erasure',
      measured: quartilesOf([busy[index]! / quiet[index]!]),
      unit: '×',
      must: 2,
      more: false,
      note:
        `${busy[index]!.toFixed(1)} ms against ${quiet[index]!.toFixed(1)} ms; ` +
        `${formatAmount(erased)} events and ${formatAmount(rows)} rows in ${seconds.toFixed(0)} s`,
    }));
  },
};
