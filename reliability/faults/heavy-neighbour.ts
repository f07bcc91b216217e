import type { Random } from '../../test/support/random.js';
import { sent, type Sent } from '../../test/support/upstream.js';
import type { Scenario } from '../scenario.js';
import { type Dose, neighbour } from './loud-neighbour.js';

const MAX_BRANDS = 50;
const YEAR_MS = 365 * 86_400_000;

/**
 * The heaviest events that are taken: 50 brands each, as long as a name may be, on days all over ten years, so that hardly
 * two facts share a row; a third of them replaces a report, which takes its facts away again, a few delete one.
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

export const heavyNeighbour: Scenario<Dose> = {
  name: 'F24',
  what: 'one organization sends its heaviest events at full rate',
  full: { events: 0, seconds: 600, latencyMs: 500 },
  run: (scene, dose) => neighbour(scene, dose, { events: heaviest }),
  guard: 'an endpoint that admits no more facts than are counted in a moment',
  counterTest: { seconds: 3 },
  without: (scene, dose) => neighbour(scene, dose, { events: heaviest, pastEndpoint: 1_000 }),
};
