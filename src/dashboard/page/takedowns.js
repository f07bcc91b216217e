import { draw } from './chart-drawing.js';
import { csvOf } from './csv.js';
import { queryOf } from './range.js';
import { fillTable } from './table.js';
import { duration, number, share } from './words.js';

const place = document.getElementById('takedowns');
const canvas = place.querySelector('canvas');
const [outcomes, times] = place.querySelectorAll('details');

const OUTCOMES = [
  ['filed', 'Filed', 'first'],
  ['completed', 'Completed', 'third'],
  ['open', 'Open', 'second'],
  ['canceled', 'Canceled', 'other'],
  ['retracted', 'Retracted', 'other'],
];
const TIMES = ['median', 'p90', 'p99', 'longest'];

export const load = (api, question, signal) => api.get('organization/takedowns/statistics', queryOf(question), signal);

const wordsFor = ({ filed, completionRate, timeToTakedown: { count, median, p90 } }) => {
  const rate = filed === 0 ? 'No takedowns were filed in this range.' : `${share(completionRate)} are completed.`;
  if (count === 0) return `${rate} None was completed in it.`;
  const half = `Median time to takedown: ${duration(median)}`;
  return `${rate} ${half} (nine of ten within ${duration(p90)}), of ${number(count)} completed in this range.`;
};

const showTimes = ({ byType, ...all }) => {
  const rows = [{ type: 'All types', ...all }, ...byType];
  const inMs = () =>
    csvOf(
      ['type', 'count', ...TIMES.map((name) => `${name}Ms`)],
      rows.map((row) => [row.type, row.count, ...TIMES.map((name) => row[name])]),
    );
  fillTable(
    times,
    ['Type', 'Completed', 'Median', '90 %', '99 %', 'Longest'],
    rows.map((row) => [row.type, row.count, ...TIMES.map((name) => duration(row[name]))]),
    { name: 'times-to-takedown', text: inMs },
  );
};

export const show = ({ body }) => {
  const words = wordsFor(body);
  place.querySelector('.summary').textContent = words;
  draw(canvas, `Takedowns by outcome: ${words} Every number is in the table below.`, (colour) => ({
    type: 'bar',
    data: {
      labels: OUTCOMES.map(([, name]) => name),
      datasets: [
        {
          label: 'Takedowns',
          data: OUTCOMES.map(([key]) => body[key]),
          backgroundColor: OUTCOMES.map(([, , name]) => colour(name)),
        },
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
  fillTable(
    outcomes,
    ['Outcome', 'Takedowns'],
    OUTCOMES.map(([key, name]) => [name, body[key]]),
    { name: 'takedowns' },
  );
  showTimes(body.timeToTakedown);
};

const NOTHING = { count: 0, median: null, p90: null, p99: null, longest: null, byType: [] };

export const clear = () => {
  const none = { filed: 0, completed: 0, open: 0, canceled: 0, retracted: 0, completionRate: null };
  show({ body: { ...none, timeToTakedown: NOTHING } });
  place.querySelector('.summary').textContent = 'No figures.';
};
