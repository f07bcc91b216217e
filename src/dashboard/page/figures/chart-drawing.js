/** Chart.js is a classic script, which is loaded before the modules. */
const { Chart } = globalThis;
const DARK = matchMedia('(prefers-color-scheme: dark)');

/** The chart and its configuration factory, by canvas. */
const drawn = new Map();

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
/** Returns the font size of charts in px. */
export const fontSize = () => 0.8 * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

const setDefaults = () => {
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.color = colour('quiet');
  Chart.defaults.borderColor = colour('line');
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = fontSize();
};

/**
 * Returns options for bars with click handlers. A click anywhere in the row or column of a bar calls the handler of the
 * bar.
 */
export const clickOptions = (actionOf) => {
  const actionAt = (chart, event) => {
    const [bar] = chart.getElementsAtEventForMode(
      event,
      'index',
      { ...chart.options.interaction, axis: chart.options.indexAxis, intersect: false },
      false,
    );
    return bar && actionOf(bar.index);
  };
  return {
    onClick: (event, _bars, chart) => actionAt(chart, event)?.(),
    onHover: (event, _bars, chart) => {
      chart.canvas.style.cursor = actionAt(chart, event) === undefined ? '' : 'pointer';
    },
  };
};

const configOf = (make) => {
  const { labels, bars, ...options } = make(colour);
  return {
    type: 'bar',
    data: { labels, datasets: [bars] },
    options: { ...options, plugins: { legend: { display: false } } },
  };
};

const update = ({ chart, make }) => {
  const { data, options } = configOf(make);
  chart.data = data;
  chart.options = options;
  chart.update('none');
};

/**
 * Draws or updates a chart of bars.
 * @param make receives a function that returns a colour by name; returns the `labels`, the `bars` as a dataset of
 *   Chart.js, and further options
 * @param label describes the chart for screen readers
 */
export const draw = (canvas, label, make) => {
  canvas.setAttribute('aria-label', label);
  const known = drawn.get(canvas);
  if (known !== undefined) return update(Object.assign(known, { make }));
  setDefaults();
  drawn.set(canvas, { make, chart: new Chart(canvas, configOf(make)) });
};

/** Redraws all charts, because colours and sizes depend on the colour scheme and the window. */
const drawAgain = () => {
  if (drawn.size === 0) return;
  setDefaults();
  drawn.forEach(update);
};
DARK.addEventListener('change', drawAgain);
let size = 0;
addEventListener('resize', () => {
  if (size !== fontSize()) drawAgain();
  size = fontSize();
});
