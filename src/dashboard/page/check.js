import { sentenceOfFailure } from './failure.js';
import { element, fillTable, recordLink } from './table.js';
import { spoken } from './words.js';

const section = document.getElementById('check');
const [form, disputeForm] = section.querySelectorAll('form');
const verdict = section.querySelector('.verdict');
const sources = section.querySelector('.sources');
const dispute = section.querySelector('.dispute');
const filed = dispute.querySelector('[role=status]');

export const COLUMNS = ['Source', 'Result', 'What the source says', 'Entry'];
/** What a source says, by the reason of its status. */
const REASONS = {
  'not-found': 'The asset is not on its list',
  'unsupported-type': 'It does not cover assets of this type',
  'source-error': 'It could not be asked; its list may not have been loaded yet',
  timeout: 'It did not answer in time',
  'parent-domain': 'A domain, page or profile above the asset is listed',
  'hosting-domain': 'The host is listed, but anybody can publish there',
};
const LISTED = { BLOCKED: 'The asset is on its blocklist', ALLOWED: 'The asset is on its allowlist' };
const SIGNS = { BLOCKED: '✕', ALLOWED: '✓', UNKNOWN: '?' };
/** The end of the sentence of the API, which names the place of an appeal: a route of the API, or a URL. */
const APPEAL = /; to dispute this, see (.+)\.$/;

/** Returns a status with a sign, so that it is not told by its colour only. */
export const badge = (status) => {
  const sign = element('span', SIGNS[status], { 'aria-hidden': 'true' });
  return element('span', [sign, ` ${spoken(status)}`], { class: `status ${status.toLowerCase()}` });
};

const sourceSays = ({ status, mode, reason, guardedBy }) => {
  if (mode === 'DISABLED') return 'It is switched off and was not asked';
  if (guardedBy !== undefined) return `The entry does not count, because it would block a whole host (${guardedBy})`;
  return REASONS[reason] ?? LISTED[status] ?? 'Nothing';
};

/** Returns the cells of the result of a source: its name, its status, what it says in words, and its entry. */
export const sourceCells = (result) => [
  result.source === 'own' ? 'This service' : result.source,
  badge(result.status),
  sourceSays(result),
  result.match,
];

/** Returns the verdict of a check in words, without names of routes, and with a link if an appeal has a URL. */
export const verdictParts = ({ status, message, code }) => {
  const sentence = element('p', message.replace(APPEAL, '.'));
  const [, appeal = ''] = APPEAL.exec(message) ?? [];
  if (appeal.startsWith('https://')) {
    const link = element('a', appeal, { href: appeal, rel: 'noreferrer' });
    sentence.append(' The source accepts objections at ', link, '.');
  }
  if (code !== undefined) sentence.append(' Enter the whole address, link or handle, not a shortened one.');
  return [badge(status), sentence];
};

let checked;

const showVerdict = (answer) => {
  verdict.replaceChildren(...verdictParts(answer));
  fillTable(sources, COLUMNS, answer.code === undefined ? answer.sources.map(sourceCells) : []);
  dispute.hidden = answer.status !== 'BLOCKED';
};

let aborter;

const forget = () => {
  sources.hidden = dispute.hidden = true;
  dispute.open = false;
  filed.replaceChildren();
  disputeForm.reset();
};

/**
 * Handles the submission of the forms. Only the response to the latest check is shown.
 * @param onDispute called after a dispute was filed
 */
export const startCheck = (apiNow, onFailure, onDispute) => {
  const onSubmit = (submitted, say, begin, work) =>
    submitted.addEventListener('submit', async (event) => {
      event.preventDefault();
      const { signal } = begin();
      try {
        await work(signal);
      } catch (failure) {
        if (signal.aborted) return;
        say(sentenceOfFailure(failure));
        onFailure(failure);
      }
    });
  const sayVerdict = (text) => verdict.replaceChildren(element('p', text));
  const beginCheck = () => {
    aborter?.abort();
    forget();
    return (aborter = new AbortController());
  };
  onSubmit(form, sayVerdict, beginCheck, async (signal) => {
    checked = form.elements.content.value;
    sayVerdict('Checking …');
    showVerdict(await apiNow().post('asset/check', { content: checked }, signal));
  });
  const sayFiled = (text) => filed.replaceChildren(text);
  onSubmit(
    disputeForm,
    sayFiled,
    () => aborter,
    async (signal) => {
      const given = ['reason', 'contact'].map((name) => [name, disputeForm.elements[name].value.trim()]);
      sayFiled('Filing the dispute …');
      const body = { content: checked, ...Object.fromEntries(given.filter(([, text]) => text !== '')) };
      const { id } = await apiNow().post('asset/disputes', body, signal);
      filed.replaceChildren('The dispute has been filed. ', recordLink('disputes', id, 'Show the dispute'));
      disputeForm.reset();
      onDispute();
    },
  );
};

export const clear = () => {
  aborter?.abort();
  form.reset();
  verdict.replaceChildren();
  sources.querySelector('.scroll').replaceChildren();
  forget();
};
