import { COLUMNS as SOURCE_COLUMNS, sourceCells, verdictParts } from '../check.js';
import { codeCell, element, fillTable, recordLink } from '../table.js';
import { counted, failureWords, spoken, time, when } from '../words.js';
import { pathOf } from './record-lists.js';
import { requestDialog } from './request-dialog.js';

const dialog = document.getElementById('record-dialog');
const [title, content] = ['h2', '.content'].map((each) => dialog.querySelector(each));
/** Maximum number of assets of a group, and of attempts of a webhook, that are shown. */
const MAX_ROWS = 100;

let apiNow;

/** Creates a part with a title and a table, or a sentence if there are no rows. */
const tablePart = (name, columns, rows, empty) => {
  const region = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name };
  const shown = rows.length === 0 ? element('p', empty, { class: 'quiet' }) : element('div', [], region);
  const part = element('section', [element('h3', name), shown]);
  if (rows.length > 0) fillTable(part, columns, rows);
  return part;
};

/** The fields that a record may have: the name, and a function that returns its text; undefined if it is absent. */
const FIELDS = [
  ['Status', ({ status, state }) => (status ?? state) && spoken(status ?? state)],
  ['Type', ({ asset }) => asset && spoken(asset.type)],
  ['Brand', ({ brand, brands = [] }) => brand ?? (brands.join(', ') || undefined)],
  ['Reason', ({ reason }) => reason],
  ['Note', ({ note }) => note],
  ['URL', ({ url }) => url],
  ['Delivers', ({ types, url }) => url && (types?.join(', ') ?? 'all kinds of records')],
  ['Why it is disabled', ({ disabledReason }) => disabledReason],
  ['Still to be sent', ({ behind }) => behind !== undefined && counted(behind, 'record')],
  ['Last failure', ({ lastFailure }) => failureWords(lastFailure)],
  ['Assets', ({ assetCount }) => assetCount !== undefined && String(assetCount)],
  ['Created', ({ createdAt }) => when(createdAt)],
  ['Changed', ({ updatedAt }) => when(updatedAt)],
  ['Id', ({ id }) => id],
];

const fieldsPart = (record) => {
  const fields = FIELDS.map(([name, textOf]) => [name, textOf(record)]).filter(([, text]) => text);
  const parts = fields.flatMap(([name, text]) => [element('dt', name), element('dd', text)]);
  return element('dl', parts, { class: 'fields-of-record' });
};

const since = ({ seenSince, watchedSince }) =>
  seenSince === undefined ? undefined : `${time(seenSince)}${seenSince === watchedSince ? ' or earlier' : ''}`;

/** The present verdict of an asset, what each source says, and since when. */
const assetParts = async (asset, signal) => {
  const [check, history] = await Promise.all(
    ['check', 'history'].map((route) => apiNow().post(`asset/${route}`, { content: asset }, signal)),
  );
  const parts = [element('h3', 'Present verdict'), ...verdictParts(check)];
  const verdict = element('section', parts, { class: 'verdict' });
  if (check.code !== undefined) return [verdict];
  const firstSeen = new Map(history.lists.map((list) => [list.source, since(list)]));
  const past = history.statuses.map((one) => [time(one.from), spoken(one.status), one.match, one.brands.join(', ')]);
  const said = check.sources.map((result) => [...sourceCells(result), firstSeen.get(result.source)]);
  const [pastColumns, never] = [['Since', 'Status', 'Entry', 'Brands'], 'This service has never had a status of it.'];
  return [
    verdict,
    tablePart('History of the status in this service', pastColumns, past, never),
    tablePart('What each source says', [...SOURCE_COLUMNS, 'Listed since'], said, 'No source was asked.'),
  ];
};

const recordParts = async (list, id, signal) => {
  const { body } = await apiNow().get(`${pathOf(list)}/${encodeURIComponent(id)}`, {}, signal);
  const parts = [fieldsPart(body)];
  if (body.asset !== undefined) parts.push(...(await assetParts(body.asset.content, signal)));
  return [body.asset?.content ?? `Report ${id}`, parts];
};

/** Reads something and a list that belongs to it. */
const readBoth = (path, list, signal) =>
  Promise.all([apiNow().get(path, {}, signal), apiNow().get(`${path}/${list}`, { limit: MAX_ROWS }, signal)]);

const groupParts = async (_list, id, signal) => {
  const path = `organization/asset-groups/${encodeURIComponent(id)}`;
  const [{ body: group }, { body: page }] = await readBoth(path, 'assets', signal);
  const rest = page.nextCursor === undefined ? '' : ` (the first ${page.assets.length})`;
  const rows = page.assets.map(({ content: text, type }) => [recordLink('asset', text, text), codeCell(type)]);
  const empty = 'The group is empty. Assets are added through the API.';
  return [group.name, [fieldsPart(group), tablePart(`Assets${rest}`, ['Asset', 'Type'], rows, empty)]];
};

const attemptCells = ({ at, isTest, records, status, error, ms }) => [
  time(at),
  isTest ? 'Test' : counted(records, 'record'),
  error === undefined ? '✓ Delivered' : `✕ ${error}`,
  status,
  ms,
];

const webhookParts = async (_list, id, signal) => {
  const path = `organization/webhooks/${encodeURIComponent(id)}`;
  const read = async () => {
    const [{ body: webhook }, { body: page }] = await readBoth(path, 'attempts', signal);
    const columns = ['Time', 'Sent', 'Result', 'HTTP status', 'ms'];
    const empty = 'Nothing has been sent yet. Send a test to see whether the endpoint answers.';
    return [webhook, tablePart('Newest attempts', columns, page.attempts.map(attemptCells), empty)];
  };
  const [webhook, attempts] = await read();
  const button = element('button', 'Send a test', { type: 'button' });
  const result = element('p', [], { role: 'status' });
  button.onclick = async () => {
    result.textContent = 'Sending …';
    const isSent = await requests.attempt(async () => {
      const { error, ms } = await apiNow().post(`${path}/test`, {}, signal);
      result.textContent =
        error === undefined ? `✓ The endpoint answered in ${ms} ms.` : `✕ The test failed: ${error}.`;
      content.lastChild.replaceWith((await read())[1]);
    });
    if (!isSent) result.textContent = '';
  };
  return [webhook.description ?? new URL(webhook.url).host, [fieldsPart(webhook), button, result, attempts]];
};

const RECORDS = ['threats', 'takedowns', 'reports', 'verdicts', 'disputes'];
const KINDS = {
  ...Object.fromEntries(RECORDS.map((list) => [list, recordParts])),
  groups: groupParts,
  webhooks: webhookParts,
  asset: async (_list, asset, signal) => [asset, await assetParts(asset, signal)],
};

const requests = requestDialog(dialog, () => {
  content.replaceChildren();
  title.textContent = '';
  if (readFragment() !== undefined) history.replaceState(null, '', location.pathname + location.search);
});
export const { clear } = requests;

/** Returns the kind and the id that the fragment of the address names; undefined if it names no record. */
const readFragment = () => {
  const [[kind, id] = []] = new URLSearchParams(location.hash.slice(2));
  return id && Object.hasOwn(KINDS, kind) ? [kind, id] : undefined;
};

/** Shows the record that the fragment of the address names, so that a link to a record can be sent to a colleague. */
export const openFromAddress = () => {
  const named = readFragment();
  if (named === undefined || apiNow() === undefined) return clear();
  const [kind, id] = named;
  title.textContent = id;
  content.replaceChildren();
  requests.show();
  return requests.begin(async (signal) => {
    const [name, parts] = await KINDS[kind](kind, id, signal);
    if (signal.aborted) return;
    title.textContent = name;
    content.replaceChildren(...parts);
  });
};

/** @param failed called with each failure; returns whether the key is no longer accepted */
export const startRecordDialog = (api, failed) => {
  apiNow = api;
  requests.start(failed);
  addEventListener('hashchange', openFromAddress);
};
