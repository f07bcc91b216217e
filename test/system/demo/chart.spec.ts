import { describe, expect, it } from '@jest/globals';
import { drawBrands, drawMetrics } from '../../../src/cli/demo/chart.js';

const TOTALS = { reports: 5_655, newThreats: 0, threatsWatchlisted: 251, takedownsFiled: 12, takedownsCompleted: 3 };

describe('The chart of the metrics', () => {
  it('shows the totals alone if nothing was blocked', () => {
    expect(drawMetrics({ metrics: TOTALS, blockedByType: [], blockedByDay: [] })).toEqual([
      '  New threats                 0',
      '  Watchlisted               251',
      '  Reports                 5,655',
      '  Takedowns filed            12',
      '  Takedowns completed         3',
    ]);
  });

  it('has a bar for each asset type and each year', () => {
    const lines = drawMetrics({
      metrics: { ...TOTALS, newThreats: 1_041 },
      blockedByType: [
        { type: 'URL', count: 1_000 },
        { type: 'TWITTER', count: 41 },
      ],
      blockedByDay: [
        { date: '2024-02-29', count: 900 },
        { date: '2025-01-01', count: 1 },
        { date: '2025-01-03', count: 100 },
        { date: '2025-01-31', count: 40 },
      ],
    });
    expect(lines.slice(5)).toEqual([
      '',
      'By type',
      `  URL      1,000  ${'█'.repeat(40)}`,
      '  TWITTER     41  █▋',
      '',
      'By year',
      `  2024  900  ${'█'.repeat(40)}`,
      '  2025  141  ██████▎',
    ]);
  });

  it('is at most 80 columns wide, whatever the numbers', () => {
    const metrics = { ...TOTALS, newThreats: 987_654_321 };
    const lines = drawMetrics({
      metrics,
      blockedByType: [{ type: 'GOOGLE_APP_STORE', count: 987_654_321 }],
      blockedByDay: [{ date: '2025-01-31', count: 987_654_321 }],
    });
    lines.push(...drawBrands([['WalletConnect', { metrics, blockedByType: [], blockedByDay: [] }]]));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  });
});
