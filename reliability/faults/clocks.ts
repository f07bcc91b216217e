import { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkMetrics, checkVerify, counted } from '../rig/check.js';
import { open } from '../rig/opened.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import { preloadOf } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';

interface Clock {
  readonly zone: string;
  readonly jumpMs: number;
}

interface Dose {
  readonly clocks: readonly Clock[];
  readonly events: number;
}

const HOUR = 3_600_000;
const QUERIES = 60;

/** Half an hour, three quarters, a date line, and a zone whose clocks change. */
const CLOCKS: readonly Clock[] = [
  { zone: 'UTC', jumpMs: 0 },
  { zone: 'Pacific/Apia', jumpMs: HOUR },
  { zone: 'America/St_Johns', jumpMs: HOUR },
  { zone: 'Asia/Kathmandu', jumpMs: 0 },
  { zone: 'Europe/London', jumpMs: HOUR },
];

/** A service whose processes and database are in this zone, asked and counted by other means. */
const countAt = async (scene: Scene, { zone, jumpMs }: Clock, events: number): Promise<string[]> => {
  scene.tell(`${zone}, clock jumping ${jumpMs / HOUR} h`);
  const database = await scene.database();
  await database.pool.query(
    `do $$ begin execute format('alter database %I set timezone = %L', current_database(), '${zone}'); end $$`,
  );
  const env = { DATABASE_URL: database.url, TZ: zone, CLOCK_JUMP_MS: String(jumpMs) };
  const { service, keys } = await open(scene, env, { preload: preloadOf('jumping-clock') });
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history);
  const all = [...fullLoad(new Random(scene.seed), events)];
  await sender.deliver(inBatches(all, 500));
  await counted(service.url);
  const findings = [...history.wrong, ...(await checkVerify(scene, env))];
  findings.push(...(await checkMetrics(service.url, keys, all, scene.seed, QUERIES)));
  return findings.map((finding) => `${zone}: ${finding}`);
};

const everywhere = async (scene: Scene, { clocks, events }: Dose): Promise<Outcome> => {
  const findings: string[] = [];
  for (const clock of clocks) findings.push(...(await countAt(scene, clock, events)));
  return {
    dose: clocks
      .map(({ zone, jumpMs }) => `${zone}${jumpMs > 0 ? ` with jumps of ± ${jumpMs / HOUR} h` : ''}`)
      .join(', '),
    seen: `${QUERIES} answers over ${events} events right everywhere`,
    findings,
  };
};

/** Days as the database's session has them, instead of UTC's. */
const localDays = async (scene: Scene): Promise<Outcome> => {
  const database = await scene.database({ migrated: false });
  const instants = [...upstream(new Random(scene.seed), 500)].flatMap(
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
    dose: `${instants.length} instants`,
    seen: '-',
    findings: other.map(({ zone, days }) => `${zone} has other days than UTC: ${days}`),
  };
};

export const zonesAndClocks: Scenario<Dose> = {
  name: 'F16',
  what: 'other time zones, and clocks that jump by an hour',
  full: { clocks: CLOCKS, events: 10_000 },
  run: everywhere,
  guard: 'days are counted from milliseconds, in UTC',
  without: localDays,
};
