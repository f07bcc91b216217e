import { Agent } from 'node:http';
import { Pool } from 'pg';
import type { Outcome } from '../faults/fault.js';
import { ask } from '../faults/rig/ask.js';
import { counted } from '../faults/rig/check.js';
import type { Scene } from '../faults/rig/scene.js';
import { cloudEvent, sent } from '../support/upstream.js';
import type { Attack } from './attack.js';
import { IMPATIENT, LENIENT, type Limits, STRICT, unnoticed } from './rig/bystanders.js';
import { type Opened, openService, TENANTS } from './rig/site.js';

interface Dose {
  /** Known members, which are moved between groups at full rate. */
  readonly members: number;
  readonly seconds: number;
  readonly quietMs: number;
  readonly limits: Limits;
}

const ORGANIZATION = TENANTS[11]!;
const BATCH = 250;
const CONNECTIONS = 4;
const BEGIN = Date.parse('2026-03-01T00:00:00Z');
const TYPE = 'application/cloudevents-batch+json';

/** A batch of members, each in another group than in the round before. */
const moves = (run: string, round: number, first: number, size: number): string =>
  JSON.stringify(
    Array.from({ length: size }, (_, n) => {
      const asset = { type: 'URL', content: `${run}-${first + n}.example` };
      const updatedAt = new Date(BEGIN + round * 1_000).toISOString();
      const data = { organization: ORGANIZATION, groupId: 1 + ((first + n + round) % 50), asset, updatedAt };
      return cloudEvent(sent('AssetGrouped', data, `${run}-${round}-${first + n}`));
    }),
  );

const attack = async (scene: Scene, target: Opened, { members, seconds, quietMs, limits }: Dose): Promise<Outcome> => {
  const run = `moves-${Date.now()}`;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const key = target.senders[ORGANIZATION];
  const post = (body: string): ReturnType<typeof ask> =>
    ask(`${target.url}/v2/events`, { method: 'POST', key, type: TYPE, body, agent, patience: 60_000 });
  for (let first = 0; first < members;)
    if ((await post(moves(run, 0, first, Math.min(BATCH, members - first)))).status === 200) first += BATCH;
  await counted(target.url, 60_000);
  const statuses = new Map<number, number>();
  let moved = 0;
  const { seen, findings } = await unnoticed(scene, target, { quietMs, limits }, async () => {
    const until = Date.now() + seconds * 1_000;
    const move = async (connection: number): Promise<void> => {
      const step = CONNECTIONS * BATCH;
      for (let round = 1; Date.now() < until; round += 1)
        for (let first = connection * BATCH; first < members && Date.now() < until;) {
          const { status, body } = await post(moves(run, round, first, Math.min(BATCH, members - first)));
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          moved += body.accepted ?? 0;
          scene.tell(`${moved} moves accepted`);
          // What was refused is sent again at once, whatever Retry-After says.
          if (status === 200) first += step;
        }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => move(connection)));
    agent.destroy();
  });
  const others = [...statuses].filter(([status]) => status !== 200 && status !== 429);
  return {
    dose: `${members} members moved between 50 groups at full rate for ${seconds} s`,
    seen: `${moved} moves accepted, ${statuses.get(429) ?? 0} × 429; ${seen}`,
    findings: [...findings, ...others.map(([status, n]) => `${n} batches were answered ${status}`)],
  };
};

/** Makes a move cost time as it once did: 5 µs for each of the others in its batch, at most 5 s in all. */
const compareEachWithEach = async (url: string): Promise<void> => {
  const pool = new Pool({ connectionString: url });
  try {
    await pool.query(`
      create function read.compare() returns trigger language plpgsql as $$
      begin
        perform pg_sleep(least(5, count(*) * count(*) * 0.000005)) from moved;
        return null;
      end $$;
      create trigger compare after update on read.grouped_assets referencing new table as moved
        for each statement execute function read.compare()`);
  } finally {
    await pool.end();
  }
};

export const movedMembers: Attack<Dose> = {
  name: 'S25',
  what: 'one organization moves the members of its groups again and again',
  asvs: { '8.4.1': 'Other Authorization Considerations', '15.2.2': 'Security Architecture and Dependencies' },
  doses: {
    short: { members: 2_000, seconds: 4, quietMs: 1_000, limits: LENIENT },
    full: { members: 3_000, seconds: 60, quietMs: 10_000, limits: STRICT },
  },
  run: async ({ site, scene }, dose) => attack(scene, await site.service(), dose),
  guard: 'a statement reads each row by its key once, so that its cost grows with the batch',
  without: async ({ scene }) => {
    const target = await openService(scene);
    await compareEachWithEach(target.env['DATABASE_URL']!);
    const outcome = await attack(scene, target, {
      members: 2_000,
      seconds: 3,
      quietMs: 200,
      limits: { ...IMPATIENT, countedMs: STRICT.countedMs },
    });
    await target.service.stop();
    return outcome;
  },
};
