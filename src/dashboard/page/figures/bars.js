import { draw, fontSize, clickOptions } from './chart-drawing.js';
import { number } from '../words.js';

const REM_PER_BAR = 2.1;
/** Maximum length of a name next to its bar. The table has the full name. */
const MAX_NAME = 24;

const shortened = (name) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name);

/**
 * Draws horizontal bars with their names and numbers; the height of the chart depends on the number of bars, and a
 * chart without bars is hidden.
 * @param label describes the chart for screen readers
 * @param bars arrays of name, number, click handler, and name of the colour; by default `first`
 */
export const drawBars = (canvas, label, bars) => {
  const container = canvas.parentElement;
  container.hidden = bars.length === 0;
  if (bars.length === 0) return;
  container.style.height = `${bars.length * REM_PER_BAR}rem`;
  draw(canvas, label, (colour) => ({
    labels: bars.map(([name]) => name),
    bars: {
      // Zero has no bar. The bar of any other number is visible, even if the number is small.
      data: bars.map(([, n]) => n || null),
      minBarLength: 2,
      barThickness: 1.6 * fontSize(),
      backgroundColor: bars.map(([, , , name = 'first']) => colour(name)),
    },
    indexAxis: 'y',
    ...clickOptions((index) => bars[index][2]),
    scales: {
      x: { display: false, beginAtZero: true },
      y: {
        grid: { display: false },
        ticks: { autoSkip: false, callback: (index) => `${shortened(bars[index][0])}  ${number(bars[index][1])}` },
      },
    },
  }));
};
