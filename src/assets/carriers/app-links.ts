import { readAccount } from '../accounts/account.js';
import { decoded } from './notations.js';

/** Schemes that only stand before a host, an account or content, or whose links share a link rather than open it. */
const NO_APP =
  /^(?:https?|wss?|ftps?|sftp|ssh|mailto|sms|tel|ipfs|ipns|dweb|wc|magnet|tg|twitter|x|whatsapp|instagram|barcelona|fb|reddit|linkedin|discord|youtube|vnd\.youtube|market|at):/i;
/** Of a link, only this much is searched. */
const MAX_APP_LENGTH = 4_096;
/** A web link after an app's own command: in its path, or a parameter. */
const CARRIED = /(?<=[=/:])https?(?::\/\/|%(?:25)*3a)/gi;

/**
 * The only web link that the link of an unknown app has, because which of two the app opens is unknown. A host after
 * the scheme is what the app opens.
 */
export const onlyCarried = (text: string): readonly string[] => {
  if (NO_APP.test(text) || /^[^:]+:\/*[^/?#]{0,253}\./.test(text.replace(/^([^:]+:)\/*(?=https?(?::|%))/i, '$1-/')))
    return [];
  const starts = Array.from(text.slice(0, MAX_APP_LENGTH).matchAll(CARRIED), ({ index }) => index);
  if (starts.length === 0 || readAccount(text) !== undefined) return [];
  const [first] = starts as [number];
  if (text[first - 1] !== '=') return [text.slice(first)];
  const end = text.slice(first).search(/[&;#]/);
  if (end === -1) return [text.slice(first)];
  return starts.some((start) => start > first + end) ? [] : [text.slice(first, first + end)];
};

const MAX_PARAMETERS = 32;
const INTENT = /^intent:(?:\/\/)?([^#]*)#Intent;([^]*)$/i;

/** Android opens the link, or another one if no app takes the link. */
export const ofIntent = (text: string): readonly string[] => {
  const [, rest, written] = INTENT.exec(text) ?? [];
  if (rest === undefined || written === undefined) return [];
  let scheme = 'https';
  const links: string[] = [];
  for (const parameter of written.split(';', MAX_PARAMETERS)) {
    if (/^scheme=[a-z][a-z0-9+.-]*$/i.test(parameter)) scheme = parameter.slice('scheme='.length);
    if (/^S\.browser_fallback_url=/i.test(parameter)) links.push(decoded(parameter.slice(parameter.indexOf('=') + 1)));
  }
  if (rest !== '') links.unshift(/^https?:/i.test(rest) ? rest : `${scheme}://${rest}`);
  return links;
};
