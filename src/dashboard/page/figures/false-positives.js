import { queryOf, RANGES } from '../range.js';
import { fillTable } from '../table.js';
import { csvOf } from '../csv.js';
import { countButton, opener } from '../records-dialog/records-dialog.js';
import { duration, number, share } from '../words.js';

const section = document.getElementById('false-positives');
const [types, outcomes] = section.querySelectorAll('details');

const TYPE_COLUMNS = ['Type', 'Blocked', 'No longer blocked', 'Rate'];
const OUTCOME_COLUMNS = ['Outcome', 'Disputes'];
const OUTCOMES = [
  ['filed', 'Filed', 'disputesFiled'],
  ['accepted', 'Accepted', 'disputesAccepted'],
  ['rejected', 'Rejected', 'disputesRejected'],
  ['open', 'Open', 'disputesOpen'],
];

/** Returns the range without the brand, because false positives are counted for the whole organization. */
const rangeOf = (filters) => ({ ...queryOf(filters), brandSlug: undefined });

export const load = (api, filters, signal) => api.get('organization/metrics/false-positives', rangeOf(filters), signal);

const threatWords = ({ counted, falsePositives, rate }) =>
  counted === 0
    ? 'No threats were first blocked in this range.'
    : `No longer blocked: ${number(falsePositives)} (${share(rate)}) of the ${number(counted)} threats first blocked in this range.`;

const disputeWords = ({ filed, open, medianTimeToResolution }) => {
  if (filed === 0) return 'No disputes were filed.';
  const time =
    medianTimeToResolution === null ? '' : `; half of the decisions took at most ${duration(medianTimeToResolution)}`;
  return `Disputes filed: ${number(filed)}, of which ${number(open)} open${time}.`;
};

export const show = ({ body: { totals, byType, disputes } }, filters) => {
  const ofAll = filters.brandSlug ? ' These numbers are of the whole organization.' : '';
  section.querySelector('.summary').textContent = `${threatWords(totals)} ${disputeWords(disputes)}${ofAll}`;
  types.hidden = byType.length === 0;
  fillTable(
    types,
    TYPE_COLUMNS,
    byType.map(({ type, counted, falsePositives, rate }) => [type, counted, falsePositives, share(rate)]),
    {
      name: 'false-positives',
      text: () =>
        csvOf(
          TYPE_COLUMNS,
          byType.map(({ type, counted, falsePositives, rate }) => [type, counted, falsePositives, rate]),
        ),
    },
  );
  outcomes.hidden = disputes.filed === 0;
  const buttonOf = (n, name, metric) =>
    countButton(
      n,
      name,
      opener(metric, n, `Disputes: ${name.toLowerCase()}`, rangeOf(filters), RANGES[filters.range].name),
    );
  fillTable(
    outcomes,
    OUTCOME_COLUMNS,
    OUTCOMES.map(([key, name, metric]) => [name, buttonOf(disputes[key], name, metric) ?? disputes[key]]),
    {
      name: 'disputes',
      text: () =>
        csvOf(
          OUTCOME_COLUMNS,
          OUTCOMES.map(([key, name]) => [name, disputes[key]]),
        ),
    },
  );
};

const NOTHING = {
  totals: { counted: 0 },
  byType: [],
  disputes: { filed: 0, accepted: 0, rejected: 0, open: 0 },
};

export const clear = () => {
  show({ body: NOTHING }, { range: 'all' });
  section.querySelector('.summary').textContent = 'Not available.';
};
