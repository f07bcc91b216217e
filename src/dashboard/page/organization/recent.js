import { dateOf, MS_PER_DAY } from '../range.js';
import { pathOf } from '../records-dialog/record-lists.js';
import { openRestated } from '../records-dialog/records-dialog.js';
import { codeCell, fillTable, recordLink, timeCell } from '../table.js';
import { counted, day, time } from '../words.js';
import { keepVisit, lastVisit } from './visits.js';

export const section = document.getElementById('recent');
/** Maximum number of records that are shown, and that are requested of each list. */
const MAX_ROWS = 10;

/** The lists, with the noun of each. */
const LISTS = { threats: 'Threat', takedowns: 'Takedown', disputes: 'Dispute', reports: 'Report' };
/** The metrics, with the noun of each. */
const METRICS = { newThreats: 'new threat', reports: 'report', takedownsFiled: 'filed takedown' };

const heading = document.getElementById('organization');
const [title, changed] = ['h2', '.changed'].map((each) => section.querySelector(each));

/** Loads the counts and the newest records of the whole organization since the last visit, else since yesterday. */
export const load = async (api, _filters, signal) => {
  const { body: organization } = await api.get('organization', {}, signal);
  const visit = lastVisit(organization.slug);
  const startDate = visit ?? new Date(dateOf(Date.now() - MS_PER_DAY)).toISOString();
  const answers = await Promise.all([
    api.get('organization/metrics', { startDate }, signal),
    ...Object.keys(LISTS).map((list) => api.get(pathOf(list), { startDate, limit: MAX_ROWS }, signal)),
  ]);
  const [{ asOf }] = answers;
  if (asOf !== undefined) keepVisit(organization.slug, visit, asOf);
  return { body: [organization, visit, startDate, ...answers.map(({ body }) => body)], asOf };
};

const wordsFor = (startDate, metrics, lists) => {
  const since = `Since ${time(startDate)}`;
  if (lists.every(({ items }) => items.length === 0))
    return `${since}: no new threats, takedowns, disputes or reports. Older records are in the lists above; the figures are below.`;
  return `${since}: ${Object.entries(METRICS)
    .map(([key, noun]) => counted(metrics[key], noun))
    .join(', ')}. The newest records:`;
};

export const show = ({ body: [{ slug, key }, visit, startDate, { metrics }, ...lists] }) => {
  heading.textContent = slug;
  heading.title = key.expiresAt === undefined ? '' : `The key expires on ${day(key.expiresAt)}`;
  title.textContent = visit === undefined ? 'Since yesterday' : 'Since your last visit';
  section.querySelector('.summary').textContent = wordsFor(startDate, metrics, lists);
  changed.hidden = visit === undefined;
  const query = { from: startDate, startDate: dateOf(0), endDate: dateOf(Date.now()) };
  changed.onclick = () => openRestated(query, 'all time');
  const rows = lists
    .flatMap(({ items }, index) => items.map((item) => [Object.keys(LISTS)[index], item]))
    .sort(([, one], [, other]) => (one.createdAt < other.createdAt ? 1 : -1))
    .slice(0, MAX_ROWS)
    .map(([list, { id, asset, status, createdAt }]) => [
      recordLink(list, id, asset?.content ?? id),
      LISTS[list],
      codeCell(status),
      timeCell(createdAt),
    ]);
  fillTable(section.querySelector('.table'), ['Asset or id', 'Kind', 'Status', 'Created'], rows);
};

export const nothing = [{ slug: '', key: {} }, undefined, dateOf(0), { metrics: {} }];
