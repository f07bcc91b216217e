import { inspect } from 'node:util';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { BEGINNING, type EventLog, type RecordedEvent } from '../../src/event-log/event-log.js';
import { readConfig } from '../../src/runtime/config.js';
import { openEventLog } from '../../src/event-log/open-event-log.js';
import { createPool } from '../../src/postgres/pool.js';
import { verify } from '../../projections/engine/verify.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { EARLIEST, LATEST } from '../../src/events/instant.js';
import { BRANDS, edgeInstant, ORGANIZATIONS } from '../../test/support/histories.js';
import { naiveCount, newestStates, type Query } from '../../test/support/naive-count.js';
import { Random } from '../../test/support/random.js';
import { eventId, SOURCE, type Sent } from '../../test/support/upstream.js';
import { sendRequest } from './http-request.js';
import type { Keys } from './keys.js';
import type { RunningService } from './running-service.js';
import { call, type Environment } from './processes.js';
import type { RunContext } from './run-context.js';

/** Reads all events of the log. */
export const wholeLog = async (log: EventLog): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (let after = BEGINNING; ; after = events.at(-1)!.position) {
    const page = await log.readAll(after, 5_000);
    if (page.length === 0) return events;
    events.push(...page);
  }
};

/** Checks that the log has every acknowledged event exactly once, with ascending positions and gapless revisions. */
export const checkLog = (stored: readonly RecordedEvent[], acknowledged: readonly Sent[]): string[] => {
  const findings: string[] = [];
  const times = new Map<string, number>();
  const revisions = new Map<string, bigint>();
  let last = BEGINNING;
  for (const { id, position, stream, revision } of stored) {
    times.set(id, (times.get(id) ?? 0) + 1);
    if (position <= last) findings.push(`Position ${position} comes after ${last}`);
    last = position;
    const expected = (revisions.get(stream) ?? -1n) + 1n;
    if (revision !== expected) findings.push(`${stream} has revision ${revision} instead of ${expected}`);
    revisions.set(stream, revision);
  }
  const ids = acknowledged.map(eventId);
  const lost = ids.filter((id) => !times.has(id)).length;
  const duplicated = [...times.values()].filter((n) => n > 1).length;
  if (lost > 0) findings.push(`${lost} acknowledged events are not in the log`);
  if (duplicated > 0) findings.push(`${duplicated} events are in the log more than once`);
  return findings;
};

/** Returns the upstream events of a log in the form in which they were sent. */
export const sentOf = (stored: readonly RecordedEvent[]): Sent[] =>
  stored.flatMap(({ type, data, metadata }) => {
    const { source, id } = metadata as { source?: string; id?: string };
    return source === SOURCE ? [{ id: id!, type: type as Sent['type'], data: data as Sent['data'] }] : [];
  });

/** Waits until the projections have no backlog. @returns how long that took, in ms */
export const waitUntilCounted = async (url: string, timeoutMs = 60_000): Promise<number> => {
  const begin = Date.now();
  for (;;) {
    const { body } = await sendRequest(`${url}/health/ready`).catch(() => ({ body: undefined }));
    const projections: { lag: number }[] | undefined = body?.parts?.readModels?.detail?.projections;
    if (projections && projections.length > 0 && projections.every(({ lag }) => lag === 0)) return Date.now() - begin;
    if (Date.now() - begin > timeoutMs) throw new Error(`Not counted within ${timeoutMs} ms: ${JSON.stringify(body)}`);
    await sleep(20);
  }
};

/** Runs `projections verify`: as a process with the embedded database or with `TZ`, otherwise in this process. */
export const checkVerify = async (context: RunContext, env: Environment): Promise<string[]> => {
  if (env['DATABASE_URL'] !== undefined && env['TZ'] === undefined) {
    const config = readConfig(env);
    const url = config.databaseDirectUrl ?? config.databaseUrl!;
    const pool = createPool(url, () => {}, { statement_timeout: 0, query_timeout: 0 });
    const log = await openEventLog(config);
    try {
      const differences = await verify({ pool, log }, PROJECTIONS);
      return differences.slice(0, 3).map((difference) => `A recount differs: ${inspect(difference)}`);
    } finally {
      await log.close();
      await pool.end();
    }
  }
  const { code, output } = await call(context, env, ['projections', 'verify', '--json']);
  return code === 0 ? [] : [`projections verify ended with ${code}: ${output.slice(0, 500)}`];
};

const isCounted = ({ type }: Sent): boolean => /^(Report|Threat|Takedown|AssetStatus)/.test(type);

export const randomQuery = (random: Random): Query => {
  const [from, to] = [edgeInstant(random), edgeInstant(random)].sort((a, b) => a - b) as [number, number];
  return {
    organization: random.pick(ORGANIZATIONS),
    brand: random.chance(0.4) ? random.pick(BRANDS) : undefined,
    from: random.chance(0.2) ? EARLIEST : from,
    to: random.chance(0.2) ? LATEST : to,
  };
};

export const askMetrics = async (
  url: string,
  keys: Keys,
  { organization, brand, from, to }: Query,
): Promise<unknown> => {
  const parameters = new URLSearchParams({
    startDate: new Date(from).toISOString(),
    endDate: new Date(to).toISOString(),
    ...(brand !== undefined && { brandSlug: brand }),
  });
  const { status, body } = await sendRequest(`${url}/v2/organization/metrics?${parameters.toString()}`, {
    key: keys.read[organization]!,
  });
  return status === 200 ? body : { status, body };
};

/** Compares metrics of the service with a naive recount of the events. */
export const checkMetrics = async (
  url: string,
  keys: Keys,
  events: readonly Sent[],
  seed: number,
  queries = 40,
): Promise<string[]> => {
  const random = new Random(seed);
  const states = newestStates(events.filter(isCounted));
  // The service may have closed idle connections during the recount; one turn of the event loop lets the agent notice.
  await setImmediate();
  const findings: string[] = [];
  for (let n = 0; n < queries; n += 1) {
    const query = randomQuery(random);
    const [actual, expected] = [await askMetrics(url, keys, query), naiveCount(states, query)];
    if (JSON.stringify(actual) !== JSON.stringify(expected))
      findings.push(
        `${JSON.stringify(query)} returned ${JSON.stringify(actual)}, but the recount is ${JSON.stringify(expected)}`,
      );
  }
  return findings;
};

/**
 * Checks that every acknowledged event is stored, and that the read models equal the recount of `projections verify`
 * and a naive recount.
 */
export const checkAll = async (
  context: RunContext,
  { service: { url }, log, keys, env }: Pick<RunningService, 'log' | 'keys' | 'env'> & { service: { url: string } },
  acknowledged: readonly Sent[],
): Promise<string[]> => {
  const stored = await wholeLog(log);
  await waitUntilCounted(url, 600_000);
  const metrics = await checkMetrics(url, keys, sentOf(stored), context.seed);
  return [...checkLog(stored, acknowledged), ...(await checkVerify(context, env)), ...metrics];
};

/** Compares the number of accepted events with the log. For runs with too many events to keep their ids. */
export const checkStored = async (
  log: EventLog,
  accepted: number,
  keys: Keys,
  /** Events that may be stored although their requests got a 429 and were not retried. */
  mostUnanswered = 0,
): Promise<string[]> => {
  // The log also holds one LogOpened event and one event per key.
  const ownEvents = 1 + 1 + Object.keys(keys.read).length;
  const stored = Number(await log.head()) + 1 - ownEvents;
  const isRight = stored >= accepted && stored <= accepted + mostUnanswered;
  return isRight ? [] : [`${accepted} events were accepted, ${stored} are in the log`];
};
