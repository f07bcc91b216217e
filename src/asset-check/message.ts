import type { Reading } from '../assets/read-content.js';
import { dayOf, formatDay } from '../events/instant.js';
import type { Opinion } from './opinion.js';
import type { Source } from './sources/sources.js';
import type { Verdict, Voice } from './verdict.js';

const LONGEST_NAME = 120;

export const PARSE_ERROR_MESSAGE =
  'This is no URL, host, wallet address, profile or anything else that can be checked.';
export const INTERNAL_SCHEME_MESSAGE =
  'This is an address of the browser, the machine or a private network, which no source can know.';
export const INTERNAL_ERROR_MESSAGE = 'The check itself failed, so nothing is said for or against this asset.';

const quoted = (name: string): string => `"${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}"`;

/** One sentence for a person: who lists the asset, since when if known, where to appeal if that is known. */
export const describe = (
  reading: Reading,
  verdict: Verdict,
  voices: readonly Voice[],
  sources: readonly Source[],
): string => {
  const name = quoted(reading.name);
  if (verdict.status === 'UNKNOWN') return `${unknown(name, verdict, voices)}${failures(voices)}.`;
  const index = voices.findIndex(({ source }) => source === verdict.source);
  const { opinion, isOwn } = voices[index]!;
  const isBlocked = verdict.status === 'BLOCKED';
  const since = opinion.since === undefined ? '' : ` since ${formatDay(dayOf(opinion.since))}`;
  const appeal = sources[index]?.appeal;
  const end = appeal === undefined || !isBlocked ? '' : `; who disagrees can appeal at ${appeal}`;
  const who = isOwn ? 'this service' : `the source ${verdict.source}`;
  return `${name} is ${isBlocked ? 'blocked' : 'allowed'}: ${who} ${listing(reading, opinion, isBlocked)}${since}${end}.`;
};

const listing = (reading: Reading, { match, isImitation, reason }: Opinion, isBlocked: boolean): string => {
  const list = isBlocked ? 'on its blocklist' : 'on its allowlist';
  if (isImitation === true) return `takes it for an imitation of ${quoted(match!)}`;
  if (reason === 'parent-domain')
    return match === undefined ? `has a domain above it ${list}` : `has ${quoted(match)}, the domain above it, ${list}`;
  return match === undefined || match === reading.name ? `has it ${list}` : `has ${quoted(match)} ${list}`;
};

const unknown = (name: string, { reason }: Verdict, voices: readonly Voice[]): string => {
  if (reason === 'hosting-domain') {
    const match = voices.find(({ opinion }) => opinion.reason === 'hosting-domain')?.opinion.match;
    const where = match === undefined ? 'The domain above it' : quoted(match);
    return `${where} is listed, but anybody can publish there, so nothing is known of ${name} itself`;
  }
  if (reason === 'unsupported-type') return `None of the sources knows assets of the type of ${name}`;
  return `No source lists ${name}, which says nothing for or against it`;
};

const failures = (voices: readonly Voice[]): string => {
  const named = (reason: string): string =>
    voices
      .filter(({ opinion }) => opinion.reason === reason)
      .map(({ source }) => source)
      .join(', ');
  const failed = named('source-error');
  const late = named('timeout');
  return `${failed === '' ? '' : `; failed: ${failed}`}${late === '' ? '' : `; not answered in time: ${late}`}`;
};
