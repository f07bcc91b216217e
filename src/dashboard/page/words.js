const NUMBER = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact' });
/** Formats a share. The share is rounded down, so that only the whole is 100 %. */
const SHARE = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1, roundingMode: 'trunc' });
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 });
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
const MONTH = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });

export const number = (n) => NUMBER.format(n);
/** Formats a number in compact form: `12K`. */
export const compact = (n) => COMPACT.format(n);
export const share = (ratio) => (ratio > 0 && ratio < 0.001 ? '<0.1%' : SHARE.format(ratio));
/** Formats a count with its noun: `1 takedown`, `2 takedowns`. */
export const counted = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;
/** The codes of the API whose words are not simply their letters in lower case. */
const WORDS = new Map([
  ['APPROVED', 'Approved as a threat'],
  ['AUTO_APPROVED', 'Approved as a threat automatically'],
  ['TODO', 'To do'],
  ...['URL', 'YouTube', 'TikTok', 'LinkedIn', 'WhatsApp', 'GitHub', 'OpenSea'].map((name) => [
    name.toUpperCase(),
    name,
  ]),
]);
/** Returns a status or a type of the API in words: `IN_PROGRESS` becomes `In progress`. */
export const spoken = (code) =>
  WORDS.get(code) ?? `${code.slice(0, 1)}${code.slice(1).toLowerCase()}`.replaceAll('_', ' ');
export const day = (iso) => DAY.format(new Date(iso));
/** Formats a range of days: `17–23 Nov 2025`. */
export const days = (first, last) => DAY.formatRange(new Date(first), new Date(last));
export const time = (iso) => `${TIME.format(new Date(iso))} UTC`;
/** Formats an instant that may be absent. */
export const when = (iso) => (iso === undefined ? undefined : time(iso));
/** Describes the last failure of a webhook, which may be absent. */
export const failureWords = (last) => last && `${time(last.at)}: ${last.error}`;

/** Functions that return the name of a point of a timeline, by interval. */
const POINT_NAMES = {
  day: ({ start }) => day(start),
  week: ({ start, end }) => days(start, end),
  month: ({ start }) => MONTH.format(new Date(start)),
  quarter: ({ start }) => `Q${Math.floor(new Date(start).getUTCMonth() / 3) + 1} ${start.slice(0, 4)}`,
  year: ({ start }) => start.slice(0, 4),
};
export const pointName = (interval, point) => POINT_NAMES[interval](point);

/**
 * Formats a rise or fall, with words for screen readers.
 * @param ratio the metric divided by the earlier metric; null if the earlier metric is 0; undefined if only the difference
 *   is of interest
 */
export const change = (difference, ratio) => {
  const isRise = difference > 0;
  const size = number(Math.abs(difference));
  const [arrow, sign, word, compared] = isRise ? ['▲', '+', 'up', 'more'] : ['▼', '−', 'down', 'less'];
  const [signs, words] = [`${arrow} ${sign}${size}`, `${word} by ${size}`];
  if (ratio === undefined) return { isRise, signs, words };
  if (ratio === null) return { isRise, signs: `${signs} (no earlier data)`, words: `${words}, no earlier data` };
  const percent = PERCENT.format(Math.abs(ratio - 1));
  return { isRise, signs: `${signs} (${sign}${percent})`, words: `${words}, ${percent} ${compared}` };
};

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** Formats a duration in ms by its two largest units: `2 d 3 h`. */
export const duration = (ms) => {
  if (ms === null) return '–';
  const first = UNITS.findIndex(([, length]) => ms >= length);
  if (first === -1) return `${ms} ms`;
  const [unit, length] = UNITS[first];
  const [next, nextLength] = UNITS[first + 1] ?? [];
  const rest = next === undefined ? 0 : Math.floor((ms % length) / nextLength);
  return `${number(Math.floor(ms / length))} ${unit}${rest > 0 ? ` ${rest} ${next}` : ''}`;
};
