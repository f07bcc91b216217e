import { cellsOf, codeCell, dayCell, fillTable, recordLink, timeCell } from '../table.js';
import { counted, failureWords, number, spoken } from '../words.js';

/** The panels that show a list of the API as a sentence and a table: disputes, asset groups and webhooks. */

/**
 * @param name the id of the section
 * @param key the name of the list in the response
 * @param wordsFor returns the sentence for a list and its response
 * @param complete returns the response with what else the panel shows
 * @param order returns the list in the order in which it is shown
 * @param saved as in `fillTable`; absent if the panel has no CSV
 */
const listPanel = ({ name, path, query = {}, key, wordsFor, columns, complete, order = (items) => items, saved }) => {
  const section = document.getElementById(name);
  return {
    section,
    nothing: { [key]: [] },
    load: async (api, _filters, signal) => {
      const answer = await api.get(path, query, signal);
      return complete === undefined ? answer : { ...answer, body: await complete(answer.body, api, signal) };
    },
    show: ({ body }) => {
      section.querySelector('.summary').textContent = wordsFor(body[key], body);
      fillTable(section.querySelector('.table'), ...cellsOf(columns, order(body[key])), saved);
    },
  };
};

/** Maximum number of disputes that are shown. The list of disputes has all. */
const MAX_DISPUTES = 20;

/** The disputes that were completed last, and their response. They are checked again while a source does not answer. */
let completed = {};
/**
 * Adds what the check says now to the decided disputes. The list says it only while an asset is no longer blocked and
 * every source answers.
 */
const withVerdicts = async (body, api, signal) => {
  if (completed.body === body) return completed.full;
  const isUnclear = ({ status, verdictNow }) => status !== 'OPEN' && verdictNow === undefined;
  const contents = body.items.filter(isUnclear).map(({ content }) => content);
  if (contents.length === 0) return body;
  const { results, summary } = await api.post('asset/check/bulk', { contents }, signal);
  const items = body.items.map((item) => (isUnclear(item) ? { ...item, verdictNow: results.shift() } : item));
  const full = { ...body, items };
  completed = summary.incomplete === 0 ? { body, full } : {};
  return full;
};

/** Returns a verdict in words. A source that is silent could still block an asset, but not unblock it. */
const verdictWords = ({ status, sources }) => {
  const isSilent = sources.some(({ reason }) => reason === 'timeout' || reason === 'source-error');
  return `${spoken(status)}${isSilent && status !== 'BLOCKED' ? '; a source did not answer' : ''}`;
};
const isOpen = ({ status }) => Number(status === 'OPEN');

export const disputes = listPanel({
  name: 'disputes',
  path: 'asset/disputes',
  query: { limit: MAX_DISPUTES },
  key: 'items',
  wordsFor: (items, { nextCursor }) => {
    if (items.length === 0)
      return 'There are no disputes yet. If an asset is blocked wrongly, check it above and select “Dispute this verdict”.';
    const open = items.filter(isOpen).length;
    const older = nextCursor === undefined ? '' : ' Older disputes are in the list “Disputes” above.';
    return `${counted(items.length, 'dispute')}, ${open} of them open, which come first.${older}`;
  },
  columns: [
    ['Asset', ({ id, asset }) => recordLink('disputes', id, asset.content)],
    ['State', ({ status }) => codeCell(status)],
    // Absent for an open dispute if the asset is still blocked, and also while a source gives no answer.
    ['Verdict now', ({ verdictNow }) => (verdictNow === undefined ? 'No change known' : verdictWords(verdictNow))],
    ['Reason', ({ reason }) => reason],
    ['Note', ({ note }) => note],
    ['Filed', ({ createdAt }) => dayCell(createdAt)],
    ['Changed', ({ updatedAt }) => dayCell(updatedAt)],
  ],
  complete: withVerdicts,
  order: (items) => items.toSorted((one, other) => isOpen(other) - isOpen(one)),
});

/** Maximum number of groups that are shown. The CSV has all groups. */
const MAX_GROUPS = 100;

export const groups = listPanel({
  name: 'groups',
  path: 'organization/asset-groups',
  key: 'groups',
  wordsFor: (items) => {
    if (items.length === 0)
      return 'There are no asset groups yet. A group names assets of your own, such as your shops; it is created through the API.';
    const assets = items.reduce((sum, { assetCount }) => sum + assetCount, 0);
    const shown = items.length > MAX_GROUPS ? ` The ${MAX_GROUPS} largest are shown; the CSV contains all groups.` : '';
    return `${counted(assets, 'asset')} in ${counted(items.length, 'group')}.${shown}`;
  },
  columns: [
    ['Group', ({ id, name }) => recordLink('groups', id, name)],
    ['Assets', ({ assetCount }) => assetCount],
  ],
  order: (items) => items.toSorted((a, b) => b.assetCount - a.assetCount),
  saved: { name: 'asset-groups', shown: MAX_GROUPS },
});

/** The service counts the backlog of a webhook only up to this number. */
const MAX_BEHIND = 10_000;

export const webhooks = listPanel({
  name: 'webhooks',
  path: 'organization/webhooks',
  key: 'webhooks',
  wordsFor: (items) => {
    if (items.length === 0)
      return 'There are no webhooks yet. A webhook sends each change to a system of yours; it is created through the API.';
    const notActive = items.filter(({ state }) => state !== 'ACTIVE').length;
    return `${counted(items.length, 'webhook')}, ${notActive === 0 ? 'all active' : `${number(notActive)} failing or disabled`}.`;
  },
  columns: [
    ['Webhook', ({ id, url, description: name }) => recordLink('webhooks', id, name ?? `${new URL(url).host} (${id})`)],
    ['State', ({ state }) => codeCell(state)],
    ['Backlog', ({ behind }) => (behind < MAX_BEHIND ? behind : `${number(MAX_BEHIND)} or more`)],
    ['Last success', ({ lastSuccessAt }) => timeCell(lastSuccessAt)],
    ['Last failure', ({ lastFailure }) => failureWords(lastFailure)],
    ['Next attempt', ({ nextAttemptAt }) => timeCell(nextAttemptAt)],
  ],
  saved: { name: 'webhooks' },
});
