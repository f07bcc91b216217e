import { requireEqual } from './equal.js';
import { type Goal, measure, type Measured, perQuery } from './goal.js';
import { askPlain, askService, filledDatabase, RANGES } from './metrics-work.js';
import { sequentially } from './paired.js';

const TARGETS = { '7 days': [3, 5], '1 year': [25, 50], 'all time': [35, 80] } as const;

/**
 * Compares the metrics of the largest organization with a GROUP BY over a covering index that returns the same result.
 */
export const metricsQuery: Goal = {
  name: 'G3a',
  run: async (bench) => {
    const database = await filledDatabase(bench, bench.sizes.facts);
    const service = askService(database);
    const groupBy = askPlain(database);
    for (const range of Object.values(RANGES)) requireEqual('metrics', await groupBy(range), await service(range));
    const lines: Measured[] = [];
    for (const name of ['7 days', '1 year', 'all time'] as const) {
      const range = RANGES[name];
      const paired = await measure(bench, `G3a ${name}`, {
        base: sequentially(() => groupBy(range)),
        target: sequentially(() => service(range)),
      });
      const [must, aim] = TARGETS[name];
      lines.push({
        what: `metrics of the largest organization, ${name}`,
        against: 'GROUP BY over a covering index',
        measured: paired.ratio,
        unit: '×',
        must,
        aim,
        note: perQuery(paired),
      });
    }
    return lines;
  },
};
