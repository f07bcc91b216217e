import { draw, fontSize, clickOptions } from './chart-drawing.js';
import { fillTable } from '../table.js';
import { countCell, opener } from '../records-dialog/records-dialog.js';
import { COLUMNS } from './totals.js';
import { compact, number, pointName } from '../words.js';

export const section = document.getElementById('timeline');
const table = section.querySelector('details');

/**
 * The series that are drawn. Each series has a separate scale, because a few reports would be invisible next to
 * thousands of threats.
 */
const DRAWN = [
  { key: 'newThreats', name: 'New threats', colour: 'first', ticks: 6 },
  { key: 'reports', name: 'Reports', colour: 'third', ticks: 3 },
  { key: 'threatsWatchlisted', name: 'Watchlisted', colour: 'second', ticks: 3 },
];
const partOf = ({ key }) => section.querySelector(`[data-series=${key}]`);
/** Returns the width available to charts in px, even while no chart is shown. */
export const width = () => section.querySelector('.summary').clientWidth;

const sumOf = (points, key) => points.reduce((sum, point) => sum + point[key], 0);

const wordsFor = ({ key, name }, { points, interval }) => {
  const peakPoint = points.reduce((one, other) => (other[key] > one[key] ? other : one));
  const peak = `at most ${number(peakPoint[key])} per ${interval} (${pointName(interval, peakPoint)})`;
  return `${name}: ${number(sumOf(points, key))} in total, ${peak}.`;
};

/** The charts are stacked, so their scales have the same width, and only the lowest chart labels the time. */
const scalesFor = (ticks, isLowest) => ({
  x: {
    grid: { display: false },
    ticks: { display: isLowest, align: 'inner', maxRotation: 0, autoSkipPadding: 4 * fontSize() },
  },
  y: {
    beginAtZero: true,
    suggestedMax: 4,
    ticks: { precision: 0, maxTicksLimit: ticks, callback: compact },
    afterFit: (scale) => {
      scale.width = 4 * fontSize();
    },
  },
});

/** Returns a function that shows the records that a point counts. */
const openerOf = ([key, name], point, label, { brandSlug }) =>
  opener(key, point[key], name, { startDate: point.start, endDate: point.end, brandSlug }, label);

const drawSeries = (series, isLowest, body, labels, filters) => {
  const { key, name, colour, ticks } = series;
  const label = `Over time. ${wordsFor(series, body)} Every number is in the table below.`;
  draw(partOf(series).querySelector('canvas'), label, (colourOf) => ({
    labels,
    bars: { label: name, data: body.points.map((point) => point[key]), backgroundColor: colourOf(colour) },
    interaction: { mode: 'index', intersect: false },
    ...clickOptions((index) => openerOf([key, name], body.points[index], labels[index], filters)),
    // Room for labels at the edges would make the bars of the lowest chart narrower than those above.
    layout: { autoPadding: false, padding: { top: 8, right: 4 } },
    scales: scalesFor(ticks, isLowest),
  }));
};

const summaryOf = (body) =>
  sumOf(body.points, 'newThreats') === 0 ? 'No threats were blocked in this range.' : wordsFor(DRAWN[0], body);

/** Series that contain only zeros are not drawn. */
export const show = (body, csv, filters) => {
  const { points, interval } = body;
  const labels = points.map((point) => pointName(interval, point));
  const shown = DRAWN.filter(({ key }) => sumOf(points, key) > 0);
  for (const series of DRAWN) partOf(series).hidden = !shown.includes(series);
  for (const series of shown) drawSeries(series, series === shown.at(-1), body, labels, filters);
  section.querySelector('.summary').textContent = summaryOf(body);
  const cell = ([key, name], point, label) =>
    countCell(point[key], `${name}, ${label}`, openerOf([key, name], point, label, filters));
  const rows = points.map((point, index) => [
    labels[index],
    ...COLUMNS.map((column) => cell(column, point, labels[index])),
  ]);
  fillTable(table, ['Time', ...COLUMNS.map(([, name]) => name)], rows, { name: 'over-time', text: csv });
  if (COLUMNS.every(([key]) => sumOf(points, key) === 0)) table.hidden = true;
};
