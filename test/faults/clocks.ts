import { createDatabase } from '../support/postgres.js';
import { Random } from '../support/random.js';
import type { Fault, Outcome } from './fault.js';
import { askMetrics, checkVerify, counted, randomQuery } from './rig/check.js';
import { issueKeys, keysKnown, openLog } from './rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from './rig/load.js';
import { preloadOf } from './rig/processes.js';
import type { Scene } from './rig/scene.js';
import { Service } from './rig/service.js';

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

/** What a service answers whose processes and database are in this zone. */
const answersAt = async (scene: Scene, { zone, jumpMs }: Clock, events: number): Promise<string[]> => {
  scene.tell(`${zone}, clock jumping ${jumpMs / HOUR} h`);
  const database = await createDatabase();
  scene.later(() => database.drop());
  await database.pool.query(
    `do $$ begin execute format('alter database %I set timezone = %L', current_database(), '${zone}'); end $$`,
  );
  const log = await openLog(scene, database.url);
  const keys = await issueKeys(log);
  const env = { DATABASE_URL: database.url, TZ: zone, CLOCK_JUMP_MS: String(jumpMs) };
  const { service } = await Service.start(scene, { env, preload: preloadOf('jumping-clock') });
  await keysKnown(service.url, keys);
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history);
  const random = new Random(scene.seed);
  await sender.deliver(inBatches([...brandsAndFlags(), ...upstream(random, events)], 500));
  sender.close();
  await counted(service.url);
  const answers: string[] = [...history.wrong, ...(await checkVerify(scene, env))];
  for (let n = 0; n < QUERIES; n += 1) {
    const query = randomQuery(random);
    answers.push(`${JSON.stringify(query)}: ${JSON.stringify(await askMetrics(service.url, keys, query))}`);
  }
  await service.stop();
  return answers;
};

const compare = (zones: readonly { clock: Clock; answers: readonly string[] }[]): string[] => {
  const [first, ...others] = zones;
  return others.flatMap(({ clock, answers }) => {
    const different = answers.filter((answer, index) => answer !== first!.answers[index]);
    return different.length === 0 && answers.length === first!.answers.length
      ? []
      : [`${different.length} of ${answers.length} answers differ in ${clock.zone}: ${different[0]}`];
  });
};

const everywhere = async (scene: Scene, { clocks, events }: Dose): Promise<Outcome> => {
  const zones = [];
  for (const clock of clocks) zones.push({ clock, answers: await answersAt(scene, clock, events) });
  return {
    dose: clocks
      .map(({ zone, jumpMs }) => `${zone}${jumpMs > 0 ? ` with jumps of ± ${jumpMs / HOUR} h` : ''}`)
      .join(', '),
    seen: `${QUERIES} answers over ${events} events identical everywhere`,
    findings: compare(zones),
  };
};

/** Days as the database's session has them, instead of UTC's. */
const localDays = async (scene: Scene): Promise<Outcome> => {
  const database = await createDatabase({ migrated: false });
  scene.later(() => database.drop());
  const instants = [...upstream(new Random(scene.seed), 500)].flatMap(
    ({ data }) => (data['createdAt'] as string) ?? [],
  );
  const zones = [];
  for (const clock of CLOCKS) {
    const connection = await database.pool.connect();
    await connection.query(`set timezone = '${clock.zone}'`);
    const { rows } = await connection.query<{ day: string; n: number }>(
      'select at::timestamptz::date::text as day, count(*) as n from unnest($1::text[]) at group by 1 order by 1',
      [instants],
    );
    await connection.query('reset timezone');
    connection.release();
    zones.push({ clock, answers: rows.map(({ day, n }) => `${day}: ${n}`) });
  }
  return { dose: `${instants.length} instants`, seen: '-', findings: compare(zones) };
};

export const zonesAndClocks: Fault<Dose> = {
  name: 'F16',
  what: 'other time zones, and clocks that jump by an hour',
  doses: { short: { clocks: CLOCKS.slice(0, 2), events: 1_000 }, full: { clocks: CLOCKS, events: 10_000 } },
  run: everywhere,
  guard: 'days are counted from milliseconds, in UTC',
  without: localDays,
};
