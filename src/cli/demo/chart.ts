import type { Metrics, MetricOfRecords } from '../../metrics/metrics.dto.js';

/** The part of the metrics response that the chart shows. */
export type DrawnMetrics = Omit<Metrics, 'metrics'> & { readonly metrics: Readonly<Record<MetricOfRecords, number>> };

const BAR_WIDTH = 40;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

const numberFormat = new Intl.NumberFormat('en-US');

const bar = (count: number, maxCount: number): string => {
  // The bar of the smallest count is still visible.
  const eighths = Math.max(count > 0 ? 1 : 0, Math.round((count / maxCount) * BAR_WIDTH * 8));
  return '█'.repeat(eighths >> 3) + EIGHTHS[eighths & 7]!;
};

/** Draws one bar per item. The length of a bar is proportional to the count. */
const bars = (counts: readonly (readonly [string, number])[]): string[] => {
  const maxCount = Math.max(...counts.map(([, count]) => count));
  const widest = Math.max(...counts.map(([name]) => name.length));
  const digits = numberFormat.format(maxCount).length;
  return counts.map(
    ([name, count]) =>
      `  ${name.padEnd(widest)}  ${numberFormat.format(count).padStart(digits)}  ${bar(count, maxCount)}`,
  );
};

const countsByYear = (days: DrawnMetrics['blockedByDay']): [string, number][] => {
  const counts = new Map<string, number>();
  for (const { date, count } of days) {
    const year = date.slice(0, 4);
    counts.set(year, (counts.get(year) ?? 0) + count);
  }
  return [...counts];
};

const totalLine = (name: string, value: number): string =>
  `  ${name.padEnd(20)}${numberFormat.format(value).padStart(9)}`;

/** Draws an organization's metrics in lines of at most 80 columns. */
export const drawMetrics = ({ metrics, blockedByType, blockedByDay }: DrawnMetrics): string[] => {
  const totals = [
    totalLine('New threats', metrics.newThreats),
    totalLine('Watchlisted', metrics.threatsWatchlisted),
    totalLine('Reports', metrics.reports),
    totalLine('Takedowns filed', metrics.takedownsFiled),
    totalLine('Takedowns completed', metrics.takedownsCompleted),
  ];
  if (blockedByDay.length === 0) return totals;
  return [
    ...totals,
    '',
    'By type',
    ...bars(blockedByType.map(({ type, count }) => [type, count] as const)),
    '',
    'By year',
    ...bars(countsByYear(blockedByDay)),
  ];
};

/** Draws one line per brand, with its threats, reports and takedowns. */
export const drawBrands = (brands: readonly (readonly [string, DrawnMetrics])[]): string[] => {
  const row = (...cells: string[]): string =>
    `  ${cells.map((cell, column) => (column === 0 ? cell.padEnd(14) : cell.padStart(11))).join('')}`;
  return [
    row('By brand', 'threats', 'reports', 'takedowns', 'completed'),
    ...brands.map(([name, { metrics }]) =>
      row(
        name,
        ...[metrics.newThreats, metrics.reports, metrics.takedownsFiled, metrics.takedownsCompleted].map((value) =>
          numberFormat.format(value),
        ),
      ),
    ),
  ];
};
