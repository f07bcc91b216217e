import { readAccount } from '../accounts/payment.js';
import { decodeOnce, cleanPastedText } from '../copied-text.js';
import { type CarriedLinks, carriedLinks } from './carried-link.js';
import { returnLinks } from './held-links.js';
import { isInternalScheme } from '../ip-address.js';
import { locateWeb } from '../link.js';
import { type Location, parseDefangedLocation, parsePlainLocation, refang, trimLikeUrlParser } from '../location.js';
import { hostsUserPages } from '../pages/page.js';
import { linkOfLnurl } from './encodings.js';
import { ENCODED_LINK, linksInMarkup } from './markup.js';

/** Schemes whose links do not open another link. These links name a host, an account or content, or share a link. */
const NOT_AN_APP =
  /^(?:https?|wss?|ftps?|sftp|ssh|mailto|sms|tel|ipfs|ipns|dweb|wc|magnet|tg|twitter|x|whatsapp|instagram|barcelona|fb|reddit|linkedin|discord|youtube|vnd\.youtube|market|at):/i;
/** Maximum number of characters that are searched. */
const MAX_SEARCHED_LENGTH = 4_096;
/** The start of a web link in the path, in a parameter or in the JSON of an app link. */
const WEB_LINK = /(?=h)(?<=[=/:"'|]|%22|%7c)https?(?::\/\/|%(?:25)*3a)/gi;

/**
 * Returns the web links in a link of an unknown app. It is unknown which of several links the app opens. Returns
 * undefined if there is none, or if a host follows the scheme, because the app opens that host.
 */
const webLinksIn = (text: string): CarriedLinks | undefined => {
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

/** Internal schemes whose links have no page inside, and those of which the browser shows that page and nothing else. */
const WITHOUT_PAGE = /^(?:data|file|javascript|livescript|vbscript):/i;
const SHOWS_PAGE = /^(?:view-source|blob|filesystem|jar|wyciwyg|about:reader)\b/i;
const pageInside = (text: string): CarriedLinks | undefined => {
  const found = WITHOUT_PAGE.test(text) ? undefined : webLinksIn(text);
  return found && { ...found, isUnderstood: found.isUnderstood && SHOWS_PAGE.test(text) };
};

const MAX_PARAMETERS = 32;
const INTENT = '#intent;';

/**
 * Returns the links of an Android intent: the link itself, and the fallback for devices without the app. As on Android,
 * the last `#` begins the parameters.
 */
const linksOfIntent = (text: string): CarriedLinks | undefined => {
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
  const extras = valuesOf(/^(?:S\.(?!browser_fallback_url=)[^=]+|data)=(https?(?::|%3a).*)$/i).map(decodeOnce);
  const hosts = valuesOf(/^host=([^/?#]+)$/i).map(decodeOnce);
  const scheme = schemes.at(-1) ?? 'https';
  // Without a host, what stands before the parameters is a command of the app, and the parameters may have the host.
  const isCommand = rest === '' || (hosts.length > 0 && !/^[^/?#]*[.:]/.test(rest));
  const path = valuesOf(/^path=\/?(.*)$/i)[0] ?? '';
  const own = [
    ...(isCommand ? [] : [/^https?:/i.test(rest) ? rest : `${scheme}://${rest}`]),
    ...hosts.map((host) => `${scheme}://${host}/${path}`),
  ];
  return {
    links: [...new Set([...own, ...fallbacks, ...extras])],
    isUnderstood:
      parameters.length <= MAX_PARAMETERS && schemes.length <= 1 && fallbacks.length <= 1 && extras.length === 0,
  };
};

const APP = /^([a-z][a-z0-9+.-]{0,63}):/i;
/** Returns the text after the scheme of an app link, in the form of the `rest` of a location. */
const restOfApp = (text: string): string => `/${text.slice(text.indexOf(':') + 1).replace(/^[\\/]+/, '')}`;

/** One step: the links in a text, and the web address that carries them. */
interface Step extends CarriedLinks {
  readonly carrier?: Location;
  /**
   * The location of the text, if the text itself is opened: before the links, as in a log-in, or instead of them, as a
   * page of a carrier.
   */
  readonly opened?: Location;
}

const stepOf = (carrier: Location): Step | undefined => {
  const found = carriedLinks(carrier.host, carrier.rest);
  if (found !== undefined) return { ...found, carrier, ...(found.hasOwnPage === true && { opened: carrier }) };
  const links = returnLinks(carrier);
  return links.length === 0 ? undefined : { links, isUnderstood: true, opened: carrier };
};

/**
 * @param plain the location of the text, if it is a web address from its first to its last character. Undefined: quotes
 *   and punctuation around the text may be from where it was copied
 * @returns undefined if the text carries no link
 */
const nextStep = (sent: string, plain: Location | undefined): Step | undefined => {
  if (plain !== undefined) return stepOf(plain);
  const text = cleanPastedText(sent);
  const refanged = refang(text);
  // `<https://…|text>` would be read as a link that ends in the text.
  const inTags = sent.startsWith('<') ? linksInMarkup(sent) : [];
  if (inTags.length > 0) return { links: inTags, isUnderstood: inTags.length === 1 };
  const web = locateWeb(text, refanged);
  if (web !== undefined) return stepOf(web);
  const lnurl = linkOfLnurl(text);
  if (lnurl !== undefined) return { links: [lnurl], isUnderstood: true };
  const scheme = APP.exec(refanged)?.[1]!.toLowerCase();
  if (scheme !== undefined) {
    if (scheme === 'intent') return linksOfIntent(refanged);
    const known = carriedLinks(`${scheme}:`, restOfApp(refanged));
    if (known !== undefined && known.links.length > 0) return known;
    if (isInternalScheme(refanged)) return pageInside(refanged);
  }
  const inMarkup = sent.startsWith('<') ? inTags : linksInMarkup(sent);
  if (inMarkup.length > 0) return { links: inMarkup, isUnderstood: inMarkup.length === 1 };
  if (scheme !== undefined) {
    const found = webLinksIn(refanged);
    if (found !== undefined) return found;
  }
  // A web address without a scheme, such as `metamask.app.link/dapp/…`, in any spelling of the host.
  const bare = parseDefangedLocation(text);
  const isMailbox = bare?.rest === '' && text.includes('@');
  const step = bare === undefined || isMailbox ? undefined : stepOf(bare);
  if (step !== undefined) return step;
  const isEncoded =
    refanged.includes('%') &&
    ENCODED_LINK.test(refanged) &&
    parseDefangedLocation(refanged) === undefined &&
    parseDefangedLocation(sent) === undefined;
  return isEncoded ? { links: [decodeOnce(refanged)], isUnderstood: true } : undefined;
};

/** Maximum number of nested carriers that are followed. */
const MAX_DEPTH = 6;
/** Maximum number of links that are followed in one text, and of links that one carrier may carry. */
const MAX_LINKS = 8;
const MAX_CANDIDATES = 4;
/**
 * Maximum number of characters of the links that are opened on the way to another link. Of further ones only the host
 * is read.
 */
const MAX_OPENED_CHARACTERS = 8_192;
/** A link to an app without a host, as a command of the app is. It opens nothing else. */
const COMMAND = /^(?!https?:)[a-z][a-z0-9+.-]*:\/*[^/?#.:]*(?:[/?#]|$)/i;
/** A carried link may be longer than its carrier by the scheme that is added to the link. */
const ADDED_LENGTH = 'https://'.length;

/** The result of following the links in a text. */
export interface FollowedText {
  /** The texts that may finally be opened, without repetitions. */
  readonly targets: readonly string[];
  /**
   * The hosts that carry the links, except hosts where many people publish. If one of these hosts is blocked, the text
   * is blocked.
   */
  readonly carriers: readonly Location[];
  /** The targets that are opened after another target, as after a log-in, or instead of a page of their carrier. */
  readonly returns: ReadonlySet<string>;
  /** Whether `targets` has everything that the text may open, or the host of it. */
  readonly isUnderstood: boolean;
  /** Whether only the host of a target is known. */
  readonly isHostOnly: boolean;
}

/**
 * Follows the links that a text carries, through nested carriers. Takes time proportional to the length of the text.
 * @param plain the location of the text, if the location is already known
 * @returns undefined if the text carries no link
 */
export const followLinks = (sent: string, plain?: Location): FollowedText | undefined => {
  const first = nextStep(sent, plain);
  if (first === undefined) return undefined;
  const targets = new Set<string>();
  const carriers = new Map<string, Location>();
  let isUnderstood = true;
  let isHostOnly = false;
  let followed = 0;
  let openedCharacters = 0;
  const returns = new Set<string>();
  const follow = (step: Step, text: string, depth: number, isReturn = false): void => {
    const add = (target: string): void => {
      if (isReturn && !targets.has(target)) returns.add(target);
      targets.add(target);
    };
    if (step.opened !== undefined) {
      openedCharacters += text.length;
      if (openedCharacters <= MAX_OPENED_CHARACTERS) add(text);
      else isUnderstood = false;
      isReturn = true;
    }
    const carrier = step.carrier ?? (openedCharacters > MAX_OPENED_CHARACTERS ? step.opened : undefined);
    if (carrier !== undefined && !hostsUserPages(carrier.host)) carriers.set(carrier.host, { ...carrier, rest: '' });
    if (!step.isUnderstood || step.links.length > MAX_CANDIDATES) isUnderstood = false;
    if (step.isHostOnly === true) isHostOnly = true;
    for (const link of step.links.slice(0, MAX_CANDIDATES)) {
      followed += 1;
      if (depth === MAX_DEPTH || followed > MAX_LINKS || link.length > text.length + ADDED_LENGTH) {
        isUnderstood = false;
        return;
      }
      const trimmed = trimLikeUrlParser(link);
      const next = nextStep(trimmed, parsePlainLocation(trimmed));
      if (next !== undefined) follow(next, trimmed, depth + 1, isReturn);
      else if (step.links.length === 1 || !COMMAND.test(trimmed)) add(trimmed);
    }
  };
  follow(first, sent, 0);
  if (targets.size === 0 && carriers.size === 0) return undefined;
  return { targets: [...targets], carriers: [...carriers.values()], returns, isUnderstood, isHostOnly };
};
