import type { Outcome, Scenario } from '../../scenario.js';
import { counted } from '../../rig/check.js';
import type { Scene } from '../../rig/scene.js';
import { queryOnce } from '../../../test/support/query-once.js';
import { cloudEvent, sent } from '../../../test/support/upstream.js';
import { unnoticed } from '../../rig/bystanders.js';
import { CONNECTIONS, sendAtFullRate } from '../../rig/full-rate.js';
import { sendAll } from '../../rig/send-all.js';
import { type Opened, openService, TENANTS } from '../../rig/site.js';

interface Dose {
  /** Known members, which are moved between groups at full rate. */
  readonly members: number;
  readonly seconds: number;
}

const ORGANIZATION = TENANTS[11]!;
const BATCH = 250;
const BEGIN = Date.parse('2026-03-01T00:00:00Z');

/** A batch of members, each in another group than in the round before. */
const moves = (run: string, round: number, first: number, size: number): object[] =>
  Array.from({ length: size }, (_, n) => {
    const asset = { type: 'URL', content: `${run}-${first + n}.example` };
    const updatedAt = new Date(BEGIN + round * 1_000).toISOString();
    const data = { organization: ORGANIZATION, groupId: 1 + ((first + n + round) % 50), asset, updatedAt };
    return cloudEvent(sent('AssetGrouped', data, `${run}-${round}-${first + n}`));
  });

const attack = async (scene: Scene, target: Opened, { members, seconds }: Dose): Promise<Outcome> => {
  const run = `moves-${Date.now()}`;
  await sendAll(target, target.senders[ORGANIZATION], moves(run, 0, 0, members), BATCH);
  await counted(target.url, 60_000);
  /** Batches of a connection until each of its members has been moved once. */
  const ofRound = Math.ceil(members / BATCH / CONNECTIONS);
  let moved: Awaited<ReturnType<typeof sendAtFullRate>> | undefined;
  const { seen, findings } = await unnoticed(scene, target, async () => {
    moved = await sendAtFullRate(scene, target, { organization: ORGANIZATION, seconds }, (connection, n) => {
      const first = (connection + (n % ofRound) * CONNECTIONS) * BATCH;
      return moves(run, 1 + Math.floor(n / ofRound), first, Math.max(0, Math.min(BATCH, members - first)));
    });
  });
  const { accepted, statuses } = moved!;
  return {
    dose: `${members} members moved between 50 groups at full rate for ${seconds} s`,
    seen: `${accepted} moves accepted, ${statuses.of(429)} × 429; ${seen}`,
    findings: [...findings, ...statuses.check(200, 429)],
  };
};

/** Makes a move cost time as it once did: 5 µs for each of the others in its batch, at most 5 s in all. */
const compareEachWithEach = (url: string): Promise<unknown> =>
  queryOnce(
    url,
    `create function read.compare() returns trigger language plpgsql as $$
     begin
       perform pg_sleep(least(5, count(*) * count(*) * 0.000005)) from moved;
       return null;
     end $$;
     create trigger compare after update on read.grouped_assets referencing new table as moved
       for each statement execute function read.compare()`,
  );

export const movedMembers: Scenario<Dose> = {
  name: 'S25',
  what: 'one organization moves the members of its groups again and again',
  asvs: { '8.4.1': 'Other Authorization Considerations', '15.2.2': 'Security Architecture and Dependencies' },
  full: { members: 3_000, seconds: 60 },
  run: async (scene, dose, site) => attack(scene, await site.service(), dose),
  guard: 'a statement reads each row by its key once, so that its cost grows with the batch',
  counterTest: { members: 2_000, seconds: 3 },
  without: async (scene, dose) => {
    const target = await openService(scene);
    await compareEachWithEach(target.env['DATABASE_URL']!);
    return attack(scene, target, dose);
  },
};
