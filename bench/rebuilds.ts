import { filledInstallation } from './event-cost.js';
import { formatAmount, type Goal, type Measured } from './goal.js';
import { quartilesOf } from './statistics.js';

const REBUILDS = [
  { what: 'the metrics', words: ['metrics'], ofOtherBuild: { must: 1.7, aim: 2.3 } },
  { what: 'all projections', words: [], ofOtherBuild: { must: 3.5, aim: 6 } },
];

/** Measures the rate of `projections rebuild` beside an idle service. */
export const rebuilds: Goal = {
  name: 'G30',
  startsAnyBuild: true,
  run: async (bench) => {
    const { installation, events } = await filledInstallation(bench);
    const lines: Measured[] = [];
    for (const { what, words, ofOtherBuild } of REBUILDS) {
      const from = performance.now();
      await installation.cli('projections', 'rebuild', ...words);
      const seconds = (performance.now() - from) / 1_000;
      bench.say(`G30 ${what}: ${seconds.toFixed(1)} s`);
      lines.push({
        what: `rate of the rebuild of ${what}`,
        against: '-',
        measured: quartilesOf([events / seconds]),
        unit: 'events/s',
        ofOtherBuild,
        note: `${formatAmount(events)} events in ${seconds.toFixed(1)} s`,
      });
    }
    return lines;
  },
};
