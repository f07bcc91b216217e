import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sent } from '../test/support/upstream.js';
import type { Bench, Goal, Line } from './goal.js';
import { post } from './post.js';
import { issueKeys, startApi, startProjector } from './services.js';
import { quantile, quartilesOf } from './statistics.js';

export const PER_SECOND = 500;
export const SINGLE_TYPE = 'application/cloudevents+json';

/** Returns the body of an event: a blocked threat of the organization. */
export const threatOf = (organization: string, id: string, n: number) => {
  const at = new Date(1_750_000_000_000 + n * 1_000).toISOString();
  const asset = { type: 'URL', content: `site-${n}.example` };
  const data = { organization, threatId: id, asset, status: 'BLOCKED', createdAt: at, updatedAt: at };
  return Buffer.from(JSON.stringify(cloudEvent(sent('ThreatStatusChanged', data, id))));
};

/** Called as soon as an event is acknowledged, with its id and the `Consistency-Token` of the response. */
export type OnAcknowledged = (id: string, token: string) => void;

/** Sends events at a constant rate. @returns the time of each acknowledgement by event id, in chronological order */
export const sendSingly = async (
  { agent, url, key }: { readonly agent: Agent; readonly url: string; readonly key: string },
  { count, perSecond }: { readonly count: number; readonly perSecond: number },
  eventOf: (n: number) => readonly [id: string, event: Buffer],
  onAcknowledged: OnAcknowledged = () => {},
): Promise<ReadonlyMap<string, number>> => {
  const acknowledged = new Map<string, number>();
  const from = performance.now();
  const sending: Promise<unknown>[] = [];
  for (let n = 0; n < count; n += 1) {
    const due = from + (n * 1000) / perSecond;
    if (due > performance.now()) await sleep(Math.max(0, due - performance.now()));
    const [id, event] = eventOf(n);
    sending.push(
      post(agent, url, key, event, SINGLE_TYPE).then(({ token }) => {
        acknowledged.set(id, performance.now());
        onAcknowledged(id, token);
      }),
    );
  }
  await Promise.all(sending);
  return acknowledged;
};

/** Collects the delays of a goal in ms, window by window. */
export class Delays {
  private readonly p50: number[] = [];
  private readonly p99: number[] = [];

  constructor(
    private readonly bench: Bench,
    private readonly goal: string,
  ) {}

  add(delays: readonly number[]): void {
    const [p50, p99] = [quantile(delays, 0.5), quantile(delays, 0.99)];
    this.p50.push(p50);
    this.p99.push(p99);
    this.bench.say(`${this.goal}: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`);
  }

  get measured(): Pick<Line, 'measured' | 'note'> {
    return { measured: quartilesOf(this.p99), note: `p50 ${quantile(this.p50, 0.5).toFixed(0)} ms` };
  }
}

/** A client that waits for the events of an organization. */
export interface Reader {
  readonly url: string;
  readonly key: string;
  /** The number of events that are sent. */
  readonly count: number;
  /** Set by a client that acts on each acknowledgement. */
  onAcknowledged?: OnAcknowledged;
}

/**
 * Starts to follow the events of an organization.
 * @returns a function that waits until the client has seen all events, and returns the delay between the
 *   acknowledgement of each event and its arrival, in ms. Its parameter maps event ids to the times of their
 *   acknowledgements, in chronological order
 */
export type StartFollowing = (
  reader: Reader,
) => Promise<(acknowledged: ReadonlyMap<string, number>) => Promise<number[]>>;

/**
 * Measures the delays between the acknowledgements of single events and their arrival at a client. Each window is a
 * series of events of one organization.
 */
const measureDelays = async (
  bench: Bench,
  goal: string,
  follow: StartFollowing,
): Promise<Pick<Line, 'measured' | 'note'>> => {
  const database = await bench.database();
  const { url } = await startApi(bench, database);
  await startProjector(bench, database);
  const { quick } = bench.sizes;
  const organizations = Array.from({ length: quick ? 1 : 6 }, (_, window) => `window-${window}`);
  const [ingest] = await issueKeys(database, ['ingest'], [undefined]);
  const keys = await issueKeys(database, ['read'], organizations);
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const count = Math.round(PER_SECOND * (quick ? 0.5 : 4));
  const delays = new Delays(bench, goal);
  for (const [window, organization] of organizations.entries()) {
    const reader: Reader = { url, key: keys[window]!, count };
    const delaysOf = await follow(reader);
    const eventOf = (n: number): readonly [string, Buffer] => {
      const id = `${organization}-${n}`;
      return [id, threatOf(organization, id, n)];
    };
    const sender = { agent, url, key: ingest! };
    const acknowledged = await sendSingly(sender, { count, perSecond: PER_SECOND }, eventOf, reader.onAcknowledged);
    delays.add(await delaysOf(acknowledged));
  }
  agent.destroy();
  return delays.measured;
};

/** Creates a goal that measures the p99 of the time from the acknowledgement of a single event to `what`, in ms. */
export const delayGoal = (name: string, what: string, must: number, aim: number, follow: StartFollowing): Goal => ({
  name,
  run: async (bench) => [
    {
      what: `acknowledgement to ${what}, ${PER_SECOND} events a second, p99`,
      against: '-',
      unit: 'ms',
      must,
      aim,
      more: false,
      ...(await measureDelays(bench, name, follow)),
    },
  ],
});
