import { type Goal, measure } from './goal.js';
import { askPlain, askService, filled, RANGES } from './metrics-work.js';
import { measurePaired, oneAfterAnother } from './paired.js';
import type { Quartiles } from './statistics.js';

/** How many times as long it takes: the other side of how many times as fast it is. */
const slower = ({ lower, median, upper }: Quartiles): Quartiles => ({
  lower: 1 / upper,
  median: 1 / median,
  upper: 1 / lower,
});

/** The same query of the largest organization where there are five times as many facts. */
export const g3b: Goal = {
  name: 'G3b',
  run: async (bench) => {
    const { facts, quick } = bench.sizes;
    const [few, many] = [await filled(bench, facts / 5), await filled(bench, facts)];
    const sizes = [facts / 5, facts, ...(bench.sizes.twenty ? [facts * 4] : [])];
    const range = RANGES['all time'];
    const paired = await measure(bench, 'G3b', {
      base: oneAfterAnother(() => askService(few)(range)),
      target: oneAfterAnother(() => askService(many)(range)),
    });
    const rows: (string | number)[][] = [];
    for (const size of sizes) {
      const database = await filled(bench, size);
      for (const [name, range] of Object.entries(RANGES)) {
        const { base, target, ratio } = await measurePaired(
          {
            base: oneAfterAnother(() => askPlain(database)(range)),
            target: oneAfterAnother(() => askService(database)(range)),
          },
          quick ? bench.sizes.dose : { rounds: 3, ms: 500 },
        );
        const ms = (rate: number): string => (1000 / rate).toFixed(2);
        rows.push([size.toLocaleString('en-US'), name, ms(target.median), ms(base.median), ratio.median.toFixed(1)]);
        bench.say(`G3b ${rows.at(-1)!.join(' · ')}`);
      }
    }
    return {
      lines: [
        {
          goal: 'G3b',
          what: 'growth of that query, all time, 1 M → 5 M facts',
          against: 'itself',
          measured: slower(paired.ratio),
          unit: '×',
          must: 1.5,
          aim: 1.2,
          more: false,
        },
      ],
      growths: [
        { what: 'Metrics by number of facts', columns: ['facts', 'range', 'ms', 'GROUP BY, ms', 'ratio'], rows },
      ],
    };
  },
};
