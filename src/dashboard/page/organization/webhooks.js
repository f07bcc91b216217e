import { fillTable } from '../table.js';
import { number, time } from '../words.js';

const section = document.getElementById('webhooks');
const COLUMNS = ['Webhook', 'State', 'Backlog', 'Last success', 'Last failure', 'Next attempt'];
/** The service counts the backlog of a webhook only up to this number. */
const MAX_BEHIND = 10_000;

export const load = (api, _filters, signal) => api.get('organization/webhooks', {}, signal);

const when = (iso) => (iso === undefined ? '–' : time(iso));
const failure = (last) => (last === undefined ? '–' : `${time(last.at)}: ${last.error}`);

const rowOf = ({ id, url, description, state, behind, lastSuccessAt, lastFailure, nextAttemptAt }) => [
  description ?? `${new URL(url).host} (${id})`,
  state,
  behind < MAX_BEHIND ? number(behind) : `${number(MAX_BEHIND)} or more`,
  when(lastSuccessAt),
  failure(lastFailure),
  when(nextAttemptAt),
];

const wordsFor = (webhooks) => {
  if (webhooks.length === 0) return 'There are no webhooks yet.';
  const notActive = webhooks.filter(({ state }) => state !== 'ACTIVE').length;
  return `${number(webhooks.length)} ${webhooks.length === 1 ? 'webhook' : 'webhooks'}, ${notActive === 0 ? 'all active' : `${number(notActive)} failing or disabled`}.`;
};

export const show = ({ body: { webhooks } }) => {
  section.querySelector('.summary').textContent = wordsFor(webhooks);
  section.querySelector('.table').hidden = webhooks.length === 0;
  fillTable(section.querySelector('.table'), COLUMNS, webhooks.map(rowOf), { name: 'webhooks' });
};

export const clear = () => {
  show({ body: { webhooks: [] } });
  section.querySelector('.summary').textContent = 'Not available.';
};
