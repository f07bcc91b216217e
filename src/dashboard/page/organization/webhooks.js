import { fillTable, recordLink } from '../table.js';
import { counted, number, time } from '../words.js';

export const section = document.getElementById('webhooks');
const COLUMNS = ['Webhook', 'State', 'Backlog', 'Last success', 'Last failure', 'Next attempt'];
/** The service counts the backlog of a webhook only up to this number. */
const MAX_BEHIND = 10_000;

export const load = (api, _filters, signal) => api.get('organization/webhooks', {}, signal);

const when = (iso) => (iso === undefined ? '–' : time(iso));
const failure = (last) => (last === undefined ? '–' : `${time(last.at)}: ${last.error}`);

const rowOf = ({ id, url, description, state, behind, lastSuccessAt, lastFailure, nextAttemptAt }) => [
  recordLink('webhooks', id, description ?? `${new URL(url).host} (${id})`),
  state,
  behind < MAX_BEHIND ? behind : `${number(MAX_BEHIND)} or more`,
  when(lastSuccessAt),
  failure(lastFailure),
  when(nextAttemptAt),
];

const wordsFor = (webhooks) => {
  if (webhooks.length === 0)
    return 'There are no webhooks yet. A webhook sends each change to a system of yours; it is created through the API.';
  const notActive = webhooks.filter(({ state }) => state !== 'ACTIVE').length;
  return `${counted(webhooks.length, 'webhook')}, ${notActive === 0 ? 'all active' : `${number(notActive)} failing or disabled`}.`;
};

export const show = ({ body: { webhooks } }) => {
  section.querySelector('.summary').textContent = wordsFor(webhooks);
  section.querySelector('.table').hidden = webhooks.length === 0;
  fillTable(section.querySelector('.table'), COLUMNS, webhooks.map(rowOf), { name: 'webhooks' });
};

export const nothing = { webhooks: [] };
