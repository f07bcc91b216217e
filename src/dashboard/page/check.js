import { element, fillTable } from './table.js';

const section = document.getElementById('check');
const form = section.querySelector('form');
const verdict = section.querySelector('.verdict');
const sources = section.querySelector('details');

const COLUMNS = ['Source', 'Status', 'Reason', 'Entry'];

const showVerdict = ({ status, message, sources: answers }) => {
  verdict.replaceChildren(
    element('strong', status, { class: `status ${status.toLowerCase()}` }),
    element('p', message),
  );
  const rows = answers.map(({ source, status: sourceStatus, mode, reason, match }) => [
    source,
    mode === 'DISABLED' ? 'not queried' : sourceStatus,
    reason,
    match,
  ]);
  fillTable(sources, COLUMNS, rows);
  sources.hidden = false;
};

let aborter;

/** Handles the submission of the form. Only the response to the latest request is shown. */
export const startCheck = (apiNow, onFailure) => {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    aborter?.abort();
    const { signal } = (aborter = new AbortController());
    verdict.replaceChildren(element('p', 'Checking …'));
    try {
      showVerdict(await apiNow().post('asset/check', { content: form.elements.content.value }, signal));
    } catch (failure) {
      if (signal.aborted) return;
      sources.hidden = true;
      const { message, retryAfter } = failure;
      const again = retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`;
      verdict.replaceChildren(element('p', message + again));
      onFailure(failure);
    }
  });
};

export const clear = () => {
  aborter?.abort();
  form.reset();
  verdict.replaceChildren();
  sources.hidden = true;
};
