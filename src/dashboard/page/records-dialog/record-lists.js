import { codeCell, recordLink, timeCell } from '../table.js';
import { spoken, time } from '../words.js';

export const OPEN_TAKEDOWNS = ['TODO', 'IN_PROGRESS', 'PENDING_RETRACTION', 'RETRACTION_SENT'];

/** The records that each metric of an organization counts: the list that has the records, and the counted statuses. */
const ORGANIZATION_RECORDS = {
  newThreats: ['threats', ['BLOCKED', 'APPROVED', 'AUTO_APPROVED']],
  threatsWatchlisted: ['threats', ['WATCHLISTED']],
  reports: ['reports'],
  threats: ['threats'],
  rejectedThreats: ['threats', ['REJECTED']],
  takedownsFiled: ['takedowns'],
  takedownsCompleted: ['takedowns', ['COMPLETED']],
  takedownsOpen: ['takedowns', OPEN_TAKEDOWNS],
  takedownsCanceled: ['takedowns', ['CANCELED']],
  takedownsRetracted: ['takedowns', ['RETRACTED']],
  disputesFiled: ['disputes'],
  disputesAccepted: ['disputes', ['ACCEPTED']],
  disputesRejected: ['disputes', ['REJECTED']],
  disputesOpen: ['disputes', ['OPEN']],
  restated: ['restated'],
};
/**
 * The metrics that count other records for a brand: the threats of a brand are verdicts, and the watchlist of a brand
 * is not counted.
 */
const BRAND_RECORDS = { newThreats: ['verdicts', ['BLOCKED']], threatsWatchlisted: undefined };

const TAKEDOWN_STATUSES = [...OPEN_TAKEDOWNS, 'COMPLETED', 'CANCELED', 'RETRACTED'];
const THREAT_STATUSES = ['BLOCKED', 'APPROVED', 'AUTO_APPROVED', 'WATCHLISTED', 'REJECTED', 'PENDING'];
const DISPUTE_STATUSES = ['OPEN', 'ACCEPTED', 'REJECTED'];
/** The statuses to choose from if a metric counts all records of a list. */
const ALL_STATUSES = { threats: THREAT_STATUSES, takedowns: TAKEDOWN_STATUSES, disputes: DISPUTE_STATUSES };

/** The paths of the lists that are not at `organization/LIST`. */
const PATHS = { disputes: 'asset/disputes', restated: 'organization/metrics/restatement/records' };
export const pathOf = (list) => PATHS[list] ?? `organization/${list}`;

/**
 * @returns the list and its path, the counted statuses (absent if all statuses are counted) and the statuses to choose from;
 *   undefined if no list has the records
 */
export const listOf = (metric, brandSlug) => {
  const found = brandSlug && metric in BRAND_RECORDS ? BRAND_RECORDS[metric] : ORGANIZATION_RECORDS[metric];
  if (found === undefined) return undefined;
  const [list, statuses] = found;
  return { list, path: pathOf(list), statuses, choices: statuses ?? ALL_STATUSES[list] ?? [] };
};

/** Returns the columns of the asset, whose name is a link to the record. */
const assetOf = (list) => [
  ['Asset', ({ id, asset }) => recordLink(list, id, asset.content)],
  ['Type', ({ asset }) => codeCell(asset.type)],
  ['Status', ({ status }) => codeCell(status)],
];
const ID = ['Id', ({ id }) => id];
const CREATED = ['Created', ({ createdAt }) => timeCell(createdAt)];
const UPDATED = ['Changed', ({ updatedAt }) => timeCell(updatedAt)];
const BRANDS = ['Brands', ({ brands }) => brands.join(', ')];

const CAUSES = {
  new: 'New',
  deleted: 'Deleted',
  status: 'Other status',
  moved: 'Other date',
  type: 'Other type',
  brand: 'Other brand',
};
/** Returns a metric in words: `takedownsFiled` becomes `Takedowns filed`. */
const metricWords = (metric) => spoken(metric.replaceAll(/[A-Z]/g, '_$&').toUpperCase());
const countedAs = (counted) =>
  counted
    .map(({ metric, type, at }) => `${metricWords(metric)}${type ? ` (${spoken(type)})` : ''} ${time(at)}`)
    .join('; ') || 'Not in this range';

const REASON = ['Reason', ({ reason }) => reason];
const NOTE = ['Note', ({ note }) => note];

/** The columns of each list: the name, and a function that returns the cell of an item. */
export const COLUMNS = {
  reports: [['Id', ({ id }) => recordLink('reports', id, id)], BRANDS, CREATED, UPDATED],
  threats: [...assetOf('threats'), CREATED, UPDATED, ID],
  takedowns: [...assetOf('takedowns'), ['Brand', ({ brand }) => brand], CREATED, UPDATED, ID],
  disputes: [...assetOf('disputes'), REASON, NOTE, CREATED, UPDATED, ID],
  verdicts: [...assetOf('verdicts'), BRANDS, CREATED, ID],
  restated: [
    [
      'Record',
      ({ kind, id, asset, cause }) => (cause === 'deleted' ? id : recordLink(`${kind}s`, id, asset?.content ?? id)),
    ],
    ['Kind', ({ kind }) => spoken(kind.toUpperCase())],
    ['Counted then', ({ then }) => countedAs(then)],
    ['Counts now', ({ now }) => countedAs(now)],
    ['Why', ({ cause, late }) => `${CAUSES[cause]}${late ? ', first stored after the range' : ''}`],
    ['Stored', ({ changedAt }) => timeCell(changedAt)],
  ],
};

const textOf = ({ id, asset, brand, brands = [], reason, note }) =>
  [id, asset?.content, brand, ...brands, reason, note].join('\n').toLowerCase();

/** Returns a function that tells whether a record has a text in its asset, id, brands or reason. */
export const matcherOf = (text) => {
  const refanged = text
    .toLowerCase()
    .replaceAll(/[[(]\.[\])]/g, '.')
    .replace(/^h(?:xx|tt)ps?:\/\//, '');
  return (item) => textOf(item).includes(refanged);
};
