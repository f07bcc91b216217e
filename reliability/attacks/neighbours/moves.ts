import type { Outcome, Scenario } from '../../scenario.js';
import { waitUntilCounted } from '../../rig/check.js';
import type { RunContext } from '../../rig/run-context.js';
import { queryOnce } from '../../../test/support/query-once.js';
import { cloudEvent, sent } from '../../../test/support/upstream.js';
import { withBystanders } from '../../rig/bystanders.js';
import { CONNECTIONS, sendAtFullRate } from '../../rig/full-rate.js';
import { sendAll } from '../../rig/send-all.js';
import { type RunningService, startAttackTarget, TENANTS } from '../../rig/shared-services.js';

interface Scale {
  /** The number of members that are moved between groups at full rate. */
  readonly members: number;
  readonly seconds: number;
}

const ORGANIZATION = TENANTS[11]!;
const BATCH = 250;
const BEGIN = Date.parse('2026-03-01T00:00:00Z');

/** Returns events that move a batch of members to the next group. */
const moves = (run: string, round: number, first: number, size: number): object[] =>
  Array.from({ length: size }, (_, n) => {
    const asset = { type: 'URL', content: `${run}-${first + n}.example` };
    const updatedAt = new Date(BEGIN + round * 1_000).toISOString();
    const data = { organization: ORGANIZATION, groupId: 1 + ((first + n + round) % 50), asset, updatedAt };
    return cloudEvent(sent('AssetGrouped', data, `${run}-${round}-${first + n}`));
  });

const attack = async (context: RunContext, target: RunningService, { members, seconds }: Scale): Promise<Outcome> => {
  const run = `moves-${Date.now()}`;
  await sendAll(target, target.ingestKeys[ORGANIZATION], moves(run, 0, 0, members), BATCH);
  await waitUntilCounted(target.url, 60_000);
  /** The number of batches until each member of a connection has been moved once. */
  const ofRound = Math.ceil(members / BATCH / CONNECTIONS);
  let moved: Awaited<ReturnType<typeof sendAtFullRate>> | undefined;
  const { observed, findings } = await withBystanders(context, target, async () => {
    moved = await sendAtFullRate(context, target, { organization: ORGANIZATION, seconds }, (connection, n) => {
      const first = (connection + (n % ofRound) * CONNECTIONS) * BATCH;
      return moves(run, 1 + Math.floor(n / ofRound), first, Math.max(0, Math.min(BATCH, members - first)));
    });
  });
  const { accepted, statuses } = moved!;
  return {
    workload: `${members} members moved between 50 groups at full rate for ${seconds} s`,
    observed: `${accepted} moves accepted, ${statuses.countOf(429)} × 429; ${observed}`,
    findings: [...findings, ...statuses.check(200, 429)],
  };
};

/** Simulates a quadratic statement: each move takes 5 µs per other move in its batch. */
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

export const movedMembers: Scenario<Scale> = {
  name: 'S25',
  what: 'one organization moves the members of its groups at full rate',
  asvs: { '8.4.1': 'Other Authorization Considerations', '15.2.2': 'Security Architecture and Dependencies' },
  full: { members: 3_000, seconds: 60 },
  run: async (context, scale, sharedServices) => attack(context, await sharedServices.service(), scale),
  guard: 'each statement reads each row once by its key, so that its cost grows linearly',
  controlScale: { members: 2_000, seconds: 3 },
  withoutGuard: async (context, scale) => {
    const target = await startAttackTarget(context);
    await compareEachWithEach(target.env['DATABASE_URL']!);
    return attack(context, target, scale);
  },
};
