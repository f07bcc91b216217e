import { draw } from './chart-drawing.js';
import { fillTable } from './table.js';
import { number, pointName } from './words.js';

const place = document.getElementById('timeline');
const canvas = place.querySelector('canvas');

/** The series drawn; the table has all of them. */
const DRAWN = [
  ['newThreats', 'New threats', 'bar', 'first'],
  ['threatsWatchlisted', 'Watchlisted', 'line', 'second', [2, 3]],
  ['reports', 'Reports', 'line', 'third', []],
];
const COLUMNS = [
  ['newThreats', 'New threats'],
  ['threatsWatchlisted', 'Watchlisted'],
  ['reports', 'Reports'],
  ['takedownsFiled', 'Takedowns filed'],
  ['takedownsCompleted', 'Takedowns completed'],
];

/** The chart's width in px. */
export const width = () => canvas.parentElement.clientWidth;

const sumOf = (points, key) => points.reduce((sum, point) => sum + point[key], 0);

const wordsFor = ({ points, interval }) => {
  const total = sumOf(points, 'newThreats');
  if (total === 0) return 'No threats were blocked in this range.';
  const most = points.reduce((one, other) => (other.newThreats > one.newThreats ? other : one));
  return `${number(total)} new threats, by ${interval}. Most: ${number(most.newThreats)} (${pointName(interval, most)}).`;
};

const dataset =
  (points, colour) =>
  ([key, label, type, name, borderDash]) => ({
    type,
    label,
    data: points.map((point) => point[key]),
    backgroundColor: colour(name),
    borderColor: colour(name),
    pointStyle: type === 'line' ? 'line' : 'rectRounded',
    ...(type === 'line' && { borderDash, borderWidth: 2, pointRadius: points.length > 60 ? 0 : 2, tension: 0 }),
    // Lines are drawn over bars.
    order: type === 'line' ? 0 : 1,
  });

/** In the table's order; lines look like lines. */
const LEGEND = { usePointStyle: true, boxHeight: 8, sort: (a, b) => a.datasetIndex - b.datasetIndex };

export const show = (body, csv) => {
  const { points, interval } = body;
  const labels = points.map((point) => pointName(interval, point));
  const words = wordsFor(body);
  place.querySelector('.summary').textContent = words;
  draw(canvas, `Threats over time: ${words} Every number is in the table below.`, (colour) => ({
    type: 'bar',
    data: { labels, datasets: DRAWN.map(dataset(points, colour)) },
    options: {
      interaction: { mode: 'index', intersect: false },
      plugins: { legend: { onClick: null, labels: LEGEND } },
      scales: {
        x: { grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 16 } },
        y: { beginAtZero: true, suggestedMax: 4, ticks: { precision: 0 } },
      },
    },
  }));
  const rows = points.map((point, index) => [labels[index], ...COLUMNS.map(([key]) => point[key])]);
  fillTable(place.querySelector('details'), ['From', ...COLUMNS.map(([, name]) => name)], rows, {
    name: 'threats-over-time',
    text: csv,
  });
};

export const clear = () => {
  place.querySelector('.summary').textContent = 'No figures.';
  draw(canvas, 'No figures', () => ({ type: 'bar', data: { labels: [], datasets: [] }, options: {} }));
  fillTable(place.querySelector('details'), ['From'], []);
};
