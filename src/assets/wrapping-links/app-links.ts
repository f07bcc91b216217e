import { readAccount } from '../accounts/account.js';
import { decodeOnce } from './markup.js';

/** Schemes whose links do not open another link. These links name a host, an account or content, or share a link. */
const NOT_AN_APP =
  /^(?:https?|wss?|ftps?|sftp|ssh|mailto|sms|tel|ipfs|ipns|dweb|wc|magnet|tg|twitter|x|whatsapp|instagram|barcelona|fb|reddit|linkedin|discord|youtube|vnd\.youtube|market|at):/i;
/** Maximum number of characters that are searched. */
const MAX_SEARCHED_LENGTH = 4_096;
/** The start of a web link in the path or in a parameter of an app link. */
const WEB_LINK = /(?<=[=/:])https?(?::\/\/|%(?:25)*3a)/gi;

/**
 * Returns the web link in a link of an unknown app. Returns nothing if there are two web links, because it is unknown
 * which of them the app opens. Also returns nothing if a host follows the scheme, because the app opens that host.
 */
export const onlyWebLinkIn = (text: string): readonly string[] => {
  if (NOT_AN_APP.test(text) || /^[^:]+:\/*[^/?#]{0,253}\./.test(text.replace(/^([^:]+:)\/*(?=https?(?::|%))/i, '$1-/')))
    return [];
  const starts = Array.from(text.slice(0, MAX_SEARCHED_LENGTH).matchAll(WEB_LINK), ({ index }) => index);
  if (starts.length === 0 || readAccount(text) !== undefined) return [];
  const [first] = starts as [number];
  if (text[first - 1] !== '=') return [text.slice(first)];
  const end = text.slice(first).search(/[&;#]/);
  if (end === -1) return [text.slice(first)];
  return starts.some((start) => start > first + end) ? [] : [text.slice(first, first + end)];
};

const MAX_PARAMETERS = 32;
const INTENT = /^intent:(?:\/\/)?([^#]*)#Intent;([^]*)$/i;

/** Returns the links of an Android intent: the link itself, and the fallback for devices without the app. */
export const linksOfIntent = (text: string): readonly string[] => {
  const [, rest, written] = INTENT.exec(text) ?? [];
  if (rest === undefined || written === undefined) return [];
  let scheme = 'https';
  const links: string[] = [];
  for (const parameter of written.split(';', MAX_PARAMETERS)) {
    if (/^scheme=[a-z][a-z0-9+.-]*$/i.test(parameter)) scheme = parameter.slice('scheme='.length);
    if (/^S\.browser_fallback_url=/i.test(parameter))
      links.push(decodeOnce(parameter.slice(parameter.indexOf('=') + 1)));
  }
  if (rest !== '') links.unshift(/^https?:/i.test(rest) ? rest : `${scheme}://${rest}`);
  return links;
};
