import { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkMetrics, checkVerify, waitUntilCounted } from '../rig/check.js';
import { startService } from '../rig/running-service.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import { preloadOf } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';

interface Clock {
  readonly zone: string;
  readonly jumpMs: number;
}

interface Scale {
  readonly clocks: readonly Clock[];
  readonly events: number;
}

const HOUR = 3_600_000;
const QUERIES = 60;

/** Zones with offsets of half hours and quarter hours, beyond the date line, and with daylight saving time. */
const CLOCKS: readonly Clock[] = [
  { zone: 'UTC', jumpMs: 0 },
  { zone: 'Pacific/Apia', jumpMs: HOUR },
  { zone: 'America/St_Johns', jumpMs: HOUR },
  { zone: 'Asia/Kathmandu', jumpMs: 0 },
  { zone: 'Europe/London', jumpMs: HOUR },
];

/** Runs the service with processes and database in this zone, and compares its metrics with a naive recount. */
const countAt = async (context: RunContext, { zone, jumpMs }: Clock, events: number): Promise<string[]> => {
  context.reportProgress(`${zone}, clock jumping ${jumpMs / HOUR} h`);
  const database = await context.database();
  await database.pool.query(
    `do $$ begin execute format('alter database %I set timezone = %L', current_database(), '${zone}'); end $$`,
  );
  const env = { DATABASE_URL: database.url, TZ: zone, CLOCK_JUMP_MS: String(jumpMs) };
  const { service, keys } = await startService(context, env, { preload: preloadOf('jumping-clock') });
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history);
  const all = [...fullLoad(new Random(context.seed), events)];
  await sender.deliver(inBatches(all, 500));
  await waitUntilCounted(service.url);
  const findings = [...history.wrong, ...(await checkVerify(context, env))];
  findings.push(...(await checkMetrics(service.url, keys, all, context.seed, QUERIES)));
  return findings.map((finding) => `${zone}: ${finding}`);
};

const everywhere = async (context: RunContext, { clocks, events }: Scale): Promise<Outcome> => {
  const findings: string[] = [];
  for (const clock of clocks) findings.push(...(await countAt(context, clock, events)));
  return {
    workload: clocks
      .map(({ zone, jumpMs }) => `${zone}${jumpMs > 0 ? ` with jumps of ± ${jumpMs / HOUR} h` : ''}`)
      .join(', '),
    observed: `${QUERIES} responses about ${events} events were correct in every zone`,
    findings,
  };
};

/** Counts days in the time zone of the database session instead of UTC. */
const localDays = async (context: RunContext): Promise<Outcome> => {
  const database = await context.database({ migrated: false });
  const instants = [...upstream(new Random(context.seed), 500)].flatMap(
    ({ data }) => (data['createdAt'] as string) ?? [],
  );
  const zones: { zone: string; days: string }[] = [];
  for (const clock of CLOCKS) {
    const connection = await database.pool.connect();
    await connection.query(`set timezone = '${clock.zone}'`);
    const { rows } = await connection.query<{ day: string; n: number }>(
      'select at::timestamptz::date::text as day, count(*) as n from unnest($1::text[]) at group by 1 order by 1',
      [instants],
    );
    await connection.query('reset timezone');
    connection.release();
    zones.push({ zone: clock.zone, days: JSON.stringify(rows) });
  }
  const other = zones.filter(({ days }) => days !== zones[0]!.days);
  return {
    workload: `${instants.length} instants`,
    observed: '-',
    findings: other.map(({ zone, days }) => `${zone} counts other days than UTC: ${days}`),
  };
};

export const zonesAndClocks: Scenario<Scale> = {
  name: 'F16',
  what: 'other time zones, and clocks that jump by an hour',
  full: { clocks: CLOCKS, events: 10_000 },
  run: everywhere,
  guard: 'days are counted from milliseconds, in UTC',
  withoutGuard: localDays,
};
