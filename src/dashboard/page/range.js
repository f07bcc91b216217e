export const MS_PER_DAY = 86_400_000;
/** Returns the date in UTC. */
export const dateOf = (ms) => new Date(ms).toISOString().slice(0, 10);

/** Returns the dates of the last days, including today. */
const lastDays = (days) => (now) => ({ startDate: dateOf(now - (days - 1) * MS_PER_DAY) });

const twelveMonths = (now) => {
  // The day is added first, because a year before 29 February is 1 March.
  const start = new Date(now + MS_PER_DAY);
  start.setUTCFullYear(start.getUTCFullYear() - 1);
  return { startDate: dateOf(start.getTime()) };
};

/**
 * The ranges. Each range has dates in UTC, a name, and the name of the range before. A range without an end date ends
 * now.
 */
export const RANGES = {
  '7d': { dates: lastDays(7), name: 'the last 7 days', before: 'the 7 days before' },
  '30d': { dates: lastDays(30), name: 'the last 30 days', before: 'the 30 days before' },
  '90d': { dates: lastDays(90), name: 'the last 90 days', before: 'the 90 days before' },
  '12m': { dates: twelveMonths, name: 'the last 12 months', before: 'the 12 months before' },
  all: { dates: () => ({}), name: 'all time' },
  custom: {
    dates: (_now, { startDate, endDate }) => ({ startDate, endDate }),
    name: 'the chosen range',
    before: 'the same number of days before',
  },
};

/** The API query for the filters as of now. */
export const queryOf = ({ range, brandSlug, ...dates }, now = Date.now()) => ({
  ...RANGES[range].dates(now, dates),
  brandSlug,
});

/** The intervals, from the shortest, with their lengths in days. */
const INTERVALS = { day: 1, week: 7, month: 30.4, quarter: 91.3, year: 365.25 };
/** The minimum width of a point. */
const MIN_PX = 9;
/** Maximum number of points, below the limit of the API. */
const MAX_POINTS = 3_600;

/** Returns the shortest interval whose points fit side by side. @param window the instants of the range */
export const intervalFor = ({ startDate, endDate }, widthPx) => {
  const room = Math.min(Math.max(widthPx / MIN_PX, 12), MAX_POINTS);
  const days = (Date.parse(endDate) - Date.parse(startDate)) / MS_PER_DAY;
  return Object.keys(INTERVALS).find((interval) => days / INTERVALS[interval] <= room) ?? 'year';
};
