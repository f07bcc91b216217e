const NUMBER = new Intl.NumberFormat('en');
const SIGNED = new Intl.NumberFormat('en', { signDisplay: 'exceptZero' });
/** Truncated, so that only the whole is 100 %. */
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1, roundingMode: 'trunc' });
const SIGNED_PERCENT = new Intl.NumberFormat('en', {
  style: 'percent',
  maximumFractionDigits: 1,
  signDisplay: 'exceptZero',
});
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });

export const number = (n) => NUMBER.format(n);
export const share = (ratio) => SHARE.format(ratio);
export const day = (iso) => DAY.format(new Date(iso));
export const time = (iso) => `${TIME.format(new Date(iso))} UTC`;

/** Names of a timeline's points; the first and the last may be partial, so only a month is named without a day. */
const POINT_NAMES = {
  day,
  week: (start) => `week of ${day(start)}`,
  month: (start) => MONTH.format(new Date(start)),
  quarter: (start) => `Q${Math.floor(new Date(start).getUTCMonth() / 3) + 1} ${start.slice(0, 4)}`,
  year: (start) => start.slice(0, 4),
};
export const pointName = (interval, { start }) => POINT_NAMES[interval](start);

/** @param ratio the figure divided by the earlier one; null if that is 0 */
export const change = (difference, ratio) => {
  if (difference === 0) return 'no change';
  return `${SIGNED.format(difference)} (${ratio === null ? 'none before' : SIGNED_PERCENT.format(ratio - 1)})`;
};

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** The two largest units of a duration in ms: `2 d 3 h`. */
export const duration = (ms) => {
  if (ms === null) return '–';
  const first = UNITS.findIndex(([, length]) => ms >= length);
  if (first === -1) return `${ms} ms`;
  const [unit, length] = UNITS[first];
  const [next, nextLength] = UNITS[first + 1] ?? [];
  const rest = next === undefined ? 0 : Math.floor((ms % length) / nextLength);
  return `${number(Math.floor(ms / length))} ${unit}${rest > 0 ? ` ${rest} ${next}` : ''}`;
};
