import type { ParsedContent } from '../assets/parse-content.js';
import { dayOf, formatDay } from '../events/instant.js';
import type { Code, Opinion } from './opinion.js';
import type { Source } from './sources/sources.js';
import type { Verdict, SourceOpinion } from './verdict.js';

const MAX_NAME_LENGTH = 120;

/** @param content as it was sent; undefined if it was not a valid content */
export const describeCode = (code: Code, content: string | undefined): string => {
  const name = content === undefined || content.trim() === '' ? 'This' : quoted(content);
  if (code === 'parse-error')
    return `${name} is not a URL, host, wallet address, profile or anything else that can be checked.`;
  if (code === 'internal-scheme')
    return `${name} is an address of the browser, the machine or a private network, which no source can know.`;
  return `The check of ${name === 'This' ? 'this' : name} itself failed, so there is no verdict.`;
};

/** At most 120 characters and an ellipsis. Never cuts through a surrogate pair. */
export const cut = (text: string): string => {
  if (text.length <= MAX_NAME_LENGTH) return text;
  const end = MAX_NAME_LENGTH - (/[\ud800-\udbff]/.test(text[MAX_NAME_LENGTH - 1]!) ? 1 : 0);
  return `${text.slice(0, end)}…`;
};
/** Characters that are invisible or change how text is displayed; the sender of the content may want either. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const quoted = (name: string): string => `"${cut(name).replace(UNSEEN, '\ufffd')}"`;

/**
 * One sentence for a person: who lists the asset, since when, and where to appeal, if known.
 * @param content as it was sent
 */
export const describe = (
  content: string,
  reading: ParsedContent,
  verdict: Verdict,
  opinions: readonly SourceOpinion[],
  sources: readonly Source[],
): string => {
  const name = quoted(content);
  if (verdict.status === 'UNKNOWN') return `${unknown(name, verdict, opinions)}${failures(opinions)}.`;
  const index = opinions.findIndex(({ source }) => source === verdict.source);
  const { opinion, isOwn } = opinions[index]!;
  const isBlocked = verdict.status === 'BLOCKED';
  const since = opinion.since === undefined ? '' : ` since ${formatDay(dayOf(opinion.since))}`;
  const appeal = sources[index]?.appeal;
  const end = appeal === undefined || !isBlocked ? '' : `; to dispute this, see ${appeal}`;
  const who = isOwn ? 'this service' : `the source ${verdict.source}`;
  return `${name} is ${isBlocked ? 'blocked' : 'allowed'}: ${who} ${listing(content, reading, opinion, isBlocked)}${since}${end}.`;
};

const listing = (
  content: string,
  reading: ParsedContent,
  { match, isImitation, reason, place }: Opinion,
  isBlocked: boolean,
): string => {
  const list = isBlocked ? 'on its blocklist' : 'on its allowlist';
  if (isImitation === true) return `flags it as imitating ${quoted(match!)}`;
  if (reason === 'parent-domain') {
    const above = aboveOf(reading, place);
    return match === undefined ? `has ${above} ${list}` : `has ${quoted(match)}, ${above}, ${list}`;
  }
  return match === undefined || match === content ? `has it ${list}` : `has ${quoted(match)} ${list}`;
};

const aboveOf = ({ type, host = '' }: ParsedContent, place = 0): string => {
  if (place > host.length) return 'the page or profile above it';
  return type === 'EMAIL' && place === host.length ? 'the domain it is at' : 'the domain above it';
};

const unknown = (name: string, { reason }: Verdict, opinions: readonly SourceOpinion[]): string => {
  if (reason === 'hosting-domain') {
    const match = opinions.find(({ opinion }) => opinion.reason === 'hosting-domain')?.opinion.match;
    const where = match === undefined ? 'The domain above it' : quoted(match);
    return `${where} is listed, but anybody can publish there, so nothing is known about ${name} itself`;
  }
  if (reason === 'unsupported-type') return `No source supports assets of the type of ${name}`;
  return `No source lists ${name}, so it is neither known good nor known bad`;
};

const failures = (opinions: readonly SourceOpinion[]): string => {
  const named = (reason: string): string =>
    opinions
      .filter(({ opinion }) => opinion.reason === reason)
      .map(({ source }) => source)
      .join(', ');
  const failed = named('source-error');
  const late = named('timeout');
  return `${failed === '' ? '' : `; failed: ${failed}`}${late === '' ? '' : `; not answered in time: ${late}`}`;
};
