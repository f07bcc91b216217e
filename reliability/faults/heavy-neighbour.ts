import type { Random } from '../../test/support/random.js';
import { sent, type Sent } from '../../test/support/upstream.js';
import type { Scenario } from '../scenario.js';
import { type Scale, runNoisyNeighbour } from './noisy-neighbour.js';

const MAX_BRANDS = 50;
const YEAR_MS = 365 * 86_400_000;

/**
 * Generates the most expensive valid events: 50 brands with names of maximum length, spread over ten years, so that
 * hardly any facts share a row. A third of the events replaces a report, and a few delete one.
 */
function* heaviest(random: Random): Generator<Sent> {
  for (let n = 0; ; n += 1) {
    const isOld = random.chance(0.33);
    const reportId = `r-${isOld ? random.int(n + 1) : n}`;
    const at = new Date(Date.UTC(2015, 0, 1) + random.int(10 * YEAR_MS)).toISOString();
    const updatedAt = new Date(Date.UTC(2026, 0, 1) + n).toISOString();
    const data = { organization: 'loud', reportId };
    if (isOld && random.chance(0.1)) {
      yield sent('ReportDeleted', { ...data, deletedAt: updatedAt }, `h-${n}`);
      continue;
    }
    const brands = Array.from({ length: MAX_BRANDS }, () => `brand-${random.int(100_000)}-`.padEnd(64, 'x'));
    yield sent('ReportFiled', { ...data, brands, createdAt: at, updatedAt }, `h-${n}`);
  }
}

export const heavyNeighbour: Scenario<Scale> = {
  name: 'F24',
  what: 'one organization sends the most expensive events at full rate',
  full: { events: 0, seconds: 600, latencyMs: 500, connections: 4 },
  run: (context, scale) => runNoisyNeighbour(context, scale, { events: heaviest }),
  guard: 'backpressure of the endpoint by the backlog of facts',
  controlScale: { seconds: 3 },
  withoutGuard: (context, scale) => runNoisyNeighbour(context, scale, { events: heaviest, pastEndpoint: 1_000 }),
};
