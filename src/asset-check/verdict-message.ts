import type { ParsedContent } from '../assets/asset.js';
import { dayOf, formatDay } from '../events/instant.js';
import type { Source } from './sources/sources.js';
import type { AttributedResult, ContentVerdict, NoVerdictCode, SourceResult } from './verdict.js';

const MAX_QUOTED_LENGTH = 120;

/**
 * Describes why there is no verdict.
 * @param content the content as sent; undefined if it is too long, empty or not a string
 */
export const describeCode = (code: NoVerdictCode, content: string | undefined): string => {
  const name = content === undefined || content.trim() === '' ? 'This' : quoted(content);
  if (code === 'parse-error')
    return `${name} is not a URL, host, wallet address, profile or anything else that can be checked.`;
  if (code === 'internal-scheme')
    return `${name} is an address that is valid only inside a browser, on the local machine or on a private network, so no source can know it.`;
  return `The check of ${name === 'This' ? 'this' : name} itself failed, so there is no verdict.`;
};

/** Truncates text to 120 characters and an ellipsis, without splitting a surrogate pair. */
export const cut = (text: string): string => {
  if (text.length <= MAX_QUOTED_LENGTH) return text;
  const end = MAX_QUOTED_LENGTH - (/[\ud800-\udbff]/.test(text[MAX_QUOTED_LENGTH - 1]!) ? 1 : 0);
  return `${text.slice(0, end)}…`;
};

/**
 * Characters that are invisible or change how text is displayed. An attacker could use such characters to falsify the
 * message.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const quoted = (name: string): string => `"${cut(name).replace(INVISIBLE, '\ufffd')}"`;

/** Where an organization disputes a status of this service. */
const OWN_APPEAL = 'POST /v2/asset/disputes';

/**
 * Describes a verdict in one sentence: who lists the asset, since when, and where to appeal, if known.
 * @param content the content as sent
 */
export const describeVerdict = (
  content: string,
  parsed: ParsedContent,
  verdict: ContentVerdict,
  results: readonly AttributedResult[],
  sources: readonly Source[],
): string => {
  const name = quoted(content);
  if (verdict.status === 'UNKNOWN') return `${unknown(name, verdict, results)}${failures(results)}.`;
  const index = results.findIndex(({ source }) => source === verdict.source);
  const { result, isOwn } = results[index]!;
  const isBlocked = verdict.status === 'BLOCKED';
  const since = result.since === undefined ? '' : ` since ${formatDay(dayOf(result.since))}`;
  const appeal = isOwn ? OWN_APPEAL : sources[index]?.appeal;
  const end = appeal === undefined || !isBlocked ? '' : `; to dispute this, see ${appeal}`;
  const listedBy = isOwn ? 'this service' : `the source ${verdict.source}`;
  return `${name} is ${isBlocked ? 'blocked' : 'allowed'}: ${listedBy} ${listing(content, parsed, result, isBlocked)}${since}${end}.`;
};

const listing = (
  content: string,
  parsed: ParsedContent,
  { match, isImitation, reason, matchedLength }: SourceResult,
  isBlocked: boolean,
): string => {
  const list = isBlocked ? 'on its blocklist' : 'on its allowlist';
  if (isImitation === true) return `flags it as imitating ${quoted(match!)}`;
  if (reason === 'parent-domain') {
    const above = aboveOf(parsed, matchedLength);
    return match === undefined ? `has ${above} ${list}` : `has ${quoted(match)}, ${above}, ${list}`;
  }
  return match === undefined || match === content ? `has it ${list}` : `has ${quoted(match)} ${list}`;
};

const aboveOf = ({ type, host = '' }: ParsedContent, matchedLength = 0): string => {
  if (matchedLength > host.length) return 'the page or profile above it';
  return type === 'EMAIL' && matchedLength === host.length ? 'the domain it is at' : 'the domain above it';
};

const unknown = (
  name: string,
  { reason, isUncertain }: ContentVerdict,
  results: readonly AttributedResult[],
): string => {
  if (isUncertain === true)
    return `${name} is partly on an allowlist, but it may open something else that could not be read, so it is not allowed`;
  if (reason === 'hosting-domain') {
    const match = results.find(({ result }) => result.reason === 'hosting-domain')?.result.match;
    const where = match === undefined ? 'The domain above it' : quoted(match);
    return `${where} is listed, but anybody can publish there, so nothing is known about ${name} itself`;
  }
  const guarded = results.find(({ mode, result }) => mode === 'ENABLED' && result.guardedBy !== undefined);
  if (guarded !== undefined) {
    const { source, result } = guarded;
    const listed = result.isImitation === true ? `flags ${name} as imitating` : 'has';
    const where = result.isImitation === true ? '' : ' on its blocklist';
    return `The source ${source} ${listed} ${quoted(result.match!)}${where}, but the guard ${result.guardedBy} does not let a list block that host, so nothing is known about ${name} itself`;
  }
  if (reason === 'unsupported-type') return `No source supports assets of the type of ${name}`;
  return `No source lists ${name}, so it is neither known good nor known bad`;
};

const failures = (results: readonly AttributedResult[]): string => {
  const named = (reason: string): string =>
    results
      .filter(({ result }) => result.reason === reason)
      .map(({ source }) => source)
      .join(', ');
  const failed = named('source-error');
  const timedOut = named('timeout');
  return `${failed === '' ? '' : `; failed: ${failed}`}${timedOut === '' ? '' : `; no response in time: ${timedOut}`}`;
};
