import { draw } from './chart-drawing.js';
import { fillTable } from './table.js';
import { number, share } from './words.js';

const place = document.getElementById('types');
const canvas = place.querySelector('canvas');
/** Bars in the chart; the table has all types. */
const MAX_BARS = 10;
const COLUMNS = ['Type', 'Blocked'];

/** Highest count first, then by name, as in the metrics. */
const countsOf = (points) => {
  const counts = new Map();
  for (const { byType } of points)
    for (const [type, n] of Object.entries(byType)) counts.set(type, (counts.get(type) ?? 0) + n);
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
};

const wordsFor = (counts) => {
  if (counts.length === 0) return 'No threats were blocked in this range.';
  const total = counts.reduce((sum, [, n]) => sum + n, 0);
  const [[type, most]] = counts;
  const listed = counts.length > MAX_BARS ? ` The chart shows the ${MAX_BARS} most frequent of ${counts.length}.` : '';
  return `${number(most)} of ${number(total)} (${share(most / total)}) are of type ${type}.${listed}`;
};

export const show = ({ points }) => {
  const counts = countsOf(points);
  const words = wordsFor(counts);
  const bars = counts.slice(0, MAX_BARS);
  place.querySelector('.summary').textContent = words;
  draw(canvas, `Blocked threats by type: ${words} Every number is in the table below.`, (colour) => ({
    type: 'bar',
    data: {
      labels: bars.map(([type]) => type),
      datasets: [
        { label: 'Blocked', data: bars.map(([, n]) => n), backgroundColor: colour('first'), maxBarThickness: 40 },
      ],
    },
    options: {
      indexAxis: 'y',
      plugins: { legend: { display: false } },
      scales: {
        x: { beginAtZero: true, suggestedMax: 4, ticks: { precision: 0, maxTicksLimit: 6 } },
        y: { grid: { display: false } },
      },
    },
  }));
  fillTable(place.querySelector('details'), COLUMNS, counts, { name: 'blocked-by-type' });
};

export const clear = () => {
  show({ points: [] });
  place.querySelector('.summary').textContent = 'No figures.';
};
