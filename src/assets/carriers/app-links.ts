import { readAccount } from '../accounts/payment.js';
import { decodeOnce } from '../text/percent.js';
import type { CarriedLinks } from './carried-link.js';

/** Schemes whose links do not open another link. These links name a host, an account or content, or share a link. */
const NOT_AN_APP =
  /^(?:https?|wss?|ftps?|sftp|ssh|mailto|sms|tel|ipfs|ipns|dweb|wc|magnet|tg|twitter|x|whatsapp|instagram|barcelona|fb|reddit|linkedin|discord|youtube|vnd\.youtube|market|at):/i;
/** Maximum number of characters that are searched. */
const MAX_SEARCHED_LENGTH = 4_096;
/** The start of a web link in the path, in a parameter or in the JSON of an app link. */
const WEB_LINK = /(?<=[=/:"'|]|%22|%7c)https?(?::\/\/|%(?:25)*3a)/gi;

/**
 * Returns the web links in a link of an unknown app. It is unknown which of several links the app opens. Returns
 * undefined if there is none, or if a host follows the scheme, because the app opens that host.
 */
export const webLinksIn = (text: string): CarriedLinks | undefined => {
  if (NOT_AN_APP.test(text) || /^[^:]+:\/*[^/?#]{0,253}\./.test(text.replace(/^([^:]+:)\/*(?=https?(?::|%))/i, '$1-/')))
    return undefined;
  const searched = text.slice(0, MAX_SEARCHED_LENGTH);
  const starts = Array.from(searched.matchAll(WEB_LINK), ({ index }) => index);
  const [first] = starts;
  if (first === undefined || readAccount(text) !== undefined) return undefined;
  // A link in the path has no end, so that later links are a part of it.
  if (/[/:]/.test(text[first - 1]!)) return { links: [text.slice(first)], isUnderstood: true };
  const links = new Set<string>();
  let end = 0;
  for (const start of starts) {
    if (start < end) continue;
    const isQuoted = text[start - 1] !== '=';
    const length = text.slice(start).search(isQuoted ? /["'|]|%22|%7c|[&;#]/i : /[&;#]/);
    end = length === -1 ? text.length : start + length;
    links.add(text.slice(start, end));
  }
  return { links: [...links], isUnderstood: links.size === 1 && text.length <= MAX_SEARCHED_LENGTH };
};

const MAX_PARAMETERS = 32;
const INTENT = '#intent;';

/**
 * Returns the links of an Android intent: the link itself, and the fallback for devices without the app. As on Android,
 * the last `#` begins the parameters.
 */
export const linksOfIntent = (text: string): CarriedLinks | undefined => {
  const hash = text.lastIndexOf('#');
  if (hash === -1 || text.slice(hash, hash + INTENT.length).toLowerCase() !== INTENT) return undefined;
  const rest = text.slice('intent:'.length, hash).replace(/^\/\//, '');
  const parameters = text.slice(hash + INTENT.length).split(';', MAX_PARAMETERS + 1);
  const valuesOf = (name: RegExp): readonly string[] => [
    ...new Set(parameters.flatMap((parameter) => name.exec(parameter)?.[1] ?? [])),
  ];
  const schemes = valuesOf(/^scheme=([a-z][a-z0-9+.-]*)$/i);
  const fallbacks = valuesOf(/^S\.browser_fallback_url=(.*)$/i).map(decodeOnce);
  // An app may open a web link in any other text that it is given.
  const extras = valuesOf(/^S\.(?!browser_fallback_url=)[^=]+=(https?(?::|%3a).*)$/i).map(decodeOnce);
  const scheme = schemes.at(-1) ?? 'https';
  const own = rest === '' ? [] : [/^https?:/i.test(rest) ? rest : `${scheme}://${rest}`];
  return {
    links: [...new Set([...own, ...fallbacks, ...extras])],
    isUnderstood:
      parameters.length <= MAX_PARAMETERS && schemes.length <= 1 && fallbacks.length <= 1 && extras.length === 0,
  };
};
