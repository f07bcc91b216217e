import { queryOf } from '../range.js';
import { codeCell, fillTable, rightAligned } from '../table.js';
import { fillCounts, openerFor, outcomeEntries } from '../records-dialog/records-dialog.js';
import { counted as countedWords, duration, number, share } from '../words.js';

export const section = document.getElementById('false-positives');
const [types, outcomes] = section.querySelectorAll('details');

const TYPE_COLUMNS = ['Type', 'Blocked', 'No longer blocked', 'Rate'];
const OUTCOME_COLUMNS = ['Outcome', 'Disputes'];
const OUTCOMES = [
  ['filed', 'Filed', 'disputesFiled'],
  ['accepted', 'Accepted', 'disputesAccepted'],
  ['rejected', 'Rejected', 'disputesRejected'],
  ['open', 'Open', 'disputesOpen'],
];

/** The range without the brand, because false positives are counted for the whole organization. */
const WITHOUT_BRAND = { brandSlug: undefined };

export const load = (api, filters, signal) =>
  api.get('organization/metrics/false-positives', { ...queryOf(filters), ...WITHOUT_BRAND }, signal);

const threatWords = ({ counted, falsePositives, rate }) =>
  counted === 0
    ? 'No threats were first blocked in this range.'
    : `No longer blocked: ${number(falsePositives)} (${share(rate)}) of the ${countedWords(counted, 'threat')} first blocked in this range.`;

const disputeWords = ({ filed, open, medianTimeToResolution }) => {
  if (filed === 0) return 'No disputes were filed.';
  const time =
    medianTimeToResolution === null ? '' : `; half of the decisions took at most ${duration(medianTimeToResolution)}`;
  return `Disputes filed: ${number(filed)}, of which ${number(open)} open${time}.`;
};

const rejected = document.getElementById('rejected');

export const show = ({ body: { totals, byType, disputes } }, filters) => {
  const ofAll = filters.brandSlug ? ' These numbers are of the whole organization.' : '';
  section.querySelector('.summary').textContent = `${threatWords(totals)} ${disputeWords(disputes)}${ofAll}`;
  rejected.hidden = totals.falsePositives === 0 || totals.counted === 0;
  const openerOf = openerFor(filters, WITHOUT_BRAND);
  rejected.onclick = openerOf('rejectedThreats', 1, 'Rejected threats');
  const rateCell = ({ rate }) => rightAligned(share(rate), rate);
  const rows = byType.map((one) => [codeCell(one.type), one.counted, one.falsePositives, rateCell(one)]);
  fillTable(types, TYPE_COLUMNS, rows, { name: 'false-positives' });
  const entries = outcomeEntries(disputes.filed === 0 ? [] : OUTCOMES, disputes, openerOf, 'Disputes');
  fillCounts(outcomes, OUTCOME_COLUMNS, entries, 'disputes');
};

export const nothing = { totals: { counted: 0 }, byType: [], disputes: { filed: 0 } };
