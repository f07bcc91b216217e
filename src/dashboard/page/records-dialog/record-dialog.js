import { COLUMNS as SOURCE_COLUMNS, sourceCells, verdictParts } from '../check.js';
import { sentenceOfFailure } from '../failure.js';
import { element, fillTable, recordLink } from '../table.js';
import { counted, spoken, time } from '../words.js';
import { pathOf } from './record-lists.js';

const dialog = document.getElementById('record-dialog');
const [title, problem, content] = ['h2', '[role=alert]', '.content'].map((each) => dialog.querySelector(each));
/** Maximum number of assets of a group, and of attempts of a webhook, that are shown. */
const MAX_ROWS = 100;

let apiNow;
let onFailure;
let aborter;

/** Creates a part with a title and a table, or a sentence if there are no rows. */
const tablePart = (name, columns, rows, empty) => {
  const part = element('section', '');
  part.append(element('h3', name));
  if (rows.length === 0) part.append(element('p', empty, { class: 'quiet' }));
  else {
    part.append(element('div', '', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': name }));
    fillTable(part, columns, rows);
  }
  return part;
};

const when = (iso) => (iso === undefined ? undefined : time(iso));

/** The fields that a record may have: the name, and a function that returns its text; undefined if it is absent. */
const FIELDS = [
  ['Status', ({ status, state }) => (status ?? state) && spoken(status ?? state)],
  ['Type', ({ asset }) => asset?.type],
  ['Brand', ({ brand, brands = [] }) => brand ?? (brands.join(', ') || undefined)],
  ['Reason', ({ reason }) => reason],
  ['Note', ({ note }) => note],
  ['URL', ({ url }) => url],
  ['Delivers', ({ types, url }) => url && (types?.join(', ') ?? 'all kinds of records')],
  ['Why it is disabled', ({ disabledReason }) => disabledReason],
  ['Still to be sent', ({ behind }) => behind !== undefined && counted(behind, 'record')],
  ['Last failure', ({ lastFailure }) => lastFailure && `${time(lastFailure.at)}: ${lastFailure.error}`],
  ['Assets', ({ assetCount }) => assetCount !== undefined && String(assetCount)],
  ['Created', ({ createdAt }) => when(createdAt)],
  ['Changed', ({ updatedAt }) => when(updatedAt)],
  ['Id', ({ id }) => id],
];

const fieldsPart = (record) => {
  const list = element('dl', '', { class: 'fields-of-record' });
  for (const [name, textOf] of FIELDS) {
    const text = textOf(record);
    if (text) list.append(element('dt', name), element('dd', text));
  }
  return list;
};

const since = ({ seenSince, watchedSince }) =>
  seenSince === undefined ? undefined : `${time(seenSince)}${seenSince === watchedSince ? ' or earlier' : ''}`;

/** The present verdict of an asset, what each source says, and since when. */
const assetParts = async (asset, signal) => {
  const [check, history] = await Promise.all(
    ['check', 'history'].map((route) => apiNow().post(`asset/${route}`, { content: asset }, signal)),
  );
  const verdict = element('section', '', { class: 'verdict' });
  verdict.append(element('h3', 'Present verdict'), ...verdictParts(check));
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
  const rows = page.assets.map(({ content: text, type }) => [recordLink('asset', text, text), type]);
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
  const result = element('p', '', { role: 'status' });
  button.onclick = async () => {
    result.textContent = 'Sending …';
    await attempt(signal, async () => {
      const { error, ms } = await apiNow().post(`${path}/test`, {}, signal);
      result.textContent =
        error === undefined ? `✓ The endpoint answered in ${ms} ms.` : `✕ The test failed: ${error}.`;
      content.lastChild.replaceWith((await read())[1]);
    });
    if (problem.textContent !== '') result.textContent = '';
  };
  return [webhook.description ?? new URL(webhook.url).host, [fieldsPart(webhook), button, result, attempts]];
};

const KINDS = {
  threats: recordParts,
  takedowns: recordParts,
  reports: recordParts,
  verdicts: recordParts,
  disputes: recordParts,
  groups: groupParts,
  webhooks: webhookParts,
  asset: async (_list, asset, signal) => [asset, await assetParts(asset, signal)],
};

const attempt = async (signal, work) => {
  problem.textContent = '';
  try {
    await work();
  } catch (failure) {
    if (signal.aborted) return;
    problem.textContent = sentenceOfFailure(failure);
    if (onFailure(failure)) dialog.close();
  }
};

/** Returns the kind and the id that the fragment of the address names; undefined if it names no record. */
const readFragment = () => {
  const [[kind, id] = []] = new URLSearchParams(location.hash.slice(2));
  return id && Object.hasOwn(KINDS, kind) ? [kind, id] : undefined;
};

/** Shows the record that the fragment of the address names, so that a link to a record can be sent to a colleague. */
export const openFromAddress = () => {
  const named = readFragment();
  if (named === undefined || apiNow() === undefined) return dialog.open && dialog.close();
  const [kind, id] = named;
  aborter?.abort();
  const { signal } = (aborter = new AbortController());
  title.textContent = id;
  content.replaceChildren();
  if (!dialog.open) dialog.showModal();
  return attempt(signal, async () => {
    const [name, parts] = await KINDS[kind](kind, id, signal);
    if (signal.aborted) return;
    title.textContent = name;
    content.replaceChildren(...parts);
  });
};

/** @param failed called with each failure; returns whether the key is no longer accepted */
export const startRecordDialog = (api, failed) => {
  [apiNow, onFailure] = [api, failed];
  addEventListener('hashchange', openFromAddress);
  dialog.querySelector('.close').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    aborter?.abort();
    content.replaceChildren();
    title.textContent = problem.textContent = '';
    if (readFragment() !== undefined) history.replaceState(null, '', location.pathname + location.search);
    if (document.activeElement === document.body) document.getElementById('main').focus();
  });
};

/** Removes the record, because the user of the next key must not see it. */
export const clear = () => dialog.open && dialog.close();
