import { readAccount } from './accounts/account.js';
import { readCopied, withoutCopied } from './text/copied-text.js';
import { isInternalScheme } from './internal-host.js';
import { locateLink, locateWeb } from './link.js';
import { type Location, locateMeant, parseLocation, parsePlainLocation, pathOf, queryOf, refang } from './location.js';

/**
 * Deep links of wallets and browsers that open another link: a host or an app's scheme, and where in the rest the link
 * is. `{link}` at the end of a path is everything after it; `*` is any segment.
 */
const FORMS = `
  metamask.app.link metamask-alternate.app.link metamask.test-app.link link.metamask.io metamask: dapp/{link}
  metamask: browser/{link}
  dapp: {link}
  go.cb-w.com cbwallet: dapp?cb_url={link} dapp?url={link}
  wallet.coinbase.com base.app dapp?cb_url={link} dapp?url={link}
  phantom.app phantom.com ul/browse/{link} ul/v1/browse/{link} ul/browse?url={link} ul/v1/browse?url={link}
  phantom: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link} browse?url={link} v1/browse?url={link}
  solflare.com backpack.app ul/browse/{link} ul/v1/browse/{link}
  solflare: backpack: browse/{link} v1/browse/{link} ul/browse/{link} ul/v1/browse/{link}
  link.trustwallet.com trust: open_url?url={link}
  link.onchain.com open_url?url={link}
  okx: okex: wallet/dapp/url?dappurl={link} wallet/dapp/details?dappurl={link}
  okx.com www.okx.com web3.okx.com okex.com www.okex.com download?deeplink={link}
  rainbow: dapp?url={link} open?url={link}
  rnbwapp.com dapp?url={link} open?url={link}
  rainbow.me dapp?url={link}
  bkcode.vip ?url={link}
  bitkeep: bitget: bkconnect?url={link}
  imtokenv2: navigate?url={link} navigate/dappview?url={link}
  keplrwallet: web-browser?url={link}
  deeplink.keplr.app web-browser?url={link}
  petra.app explore?link={link}
  app.tonkeeper.com tonkeeper: dapp/{link}
  zerion: browser?url={link}
  safepalwallet: dapp?url={link}
  ledgerlive: discover?url={link}
  dial.to ?action={link} developer?url={link}
  googlechrome: navigate?url={link} {link}
  googlechromes: braves: {link}
  brave: firefox: firefox-focus: firefox-klar: open-url?url={link}
  firefox-open-url: ?url={link}
  microsoft-edge: microsoft-edge-http: microsoft-edge-https: {link}
  touch-http: touch-https: opera-http: opera-https: {link}
  yandexbrowser-open-url: ddgquicklink: {link}
  android-app: */https/{link} */http/{link}
  x-github-client: openrepo/{link}
  git+https: git+http: git+ssh: {link}
`;

interface Form {
  /** Lower-case segments of the path; `*` is any. */
  readonly segments: readonly string[];
  /** Lower-case name of the parameter with the link; undefined if the link follows the path. */
  readonly parameter: string | undefined;
}

const formOf = (text: string): Form => {
  const [path, query] = text.split('?') as [string, string?];
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '{link}');
  return { segments, parameter: query?.replace('={link}', '') };
};

const BY_CARRIER = new Map<string, readonly Form[]>();
for (const line of FORMS.trim().split('\n')) {
  const words = line.trim().split(' ');
  const forms = words.filter((word) => word.includes('{link}')).map(formOf);
  for (const word of words)
    if (!word.includes('{link}')) BY_CARRIER.set(word, [...(BY_CARRIER.get(word) ?? []), ...forms]);
}

/** A link carried in another notation: what copying a link from a page, a message or a document leaves around it. */
const TARGET = String.raw`((?:[^\s<>()]|\([^\s<>()]*\))+)`;
const WEB = String.raw`h[tx*_]{2}ps?(?::|\[:|%)`;
const NOTATIONS: readonly RegExp[] = [
  // Markdown: [text](https://…), also of an image. Whatever the text says, the target is opened.
  new RegExp(String.raw`^[^\p{L}\p{N}[]{0,16}\[[^]*?\]\(\s*<?${TARGET}`, 'u'),
  // Markdown: [label]: https://…
  new RegExp(String.raw`^\[[^\]]*\]:\s*<?(${WEB}[^\s<>]+)`, 'i'),
  // RFC 3986, appendix C: <URL:https://…>
  /^[\s<("'\u201c]{0,16}ur[li]:\s*([^\s<>"]+)/i,
  // Chats: <https://…|text>
  /^\s*<([^\s|<>]+)\|[^<>]*>/,
  /^\s*<a\s[^<>]*?\bhref\s*=\s*["']?([^\s"'<>]+)/i,
  // Forums: [url=https://…], [url]https://…[/url]
  /^\[url=["']?([^\s"'\]]+)/i,
  /^\[url\]([^\s]+?)\[\/url\]/i,
  // Wikis and outlines: [[https://…][text]], [https://… text], [text|https://…]
  /^\[\[([^\s\]|]+)[\]|]/,
  new RegExp(String.raw`^\[(${WEB}[^\s\]]+)\s[^\]]*\]`, 'i'),
  new RegExp(String.raw`^\[[^\]|]*\|(${WEB}[^\s\]]+)\]`, 'i'),
  // Mail: text <https://…>
  new RegExp(String.raw`^[^<>]*<(?:url:)?(${WEB}[^\s<>]+)>`, 'i'),
];
const MAY_BE_NOTATION = /[[<]|^[\s("'\u201c]{0,16}ur[li]:/i;
/** What a target must have to be one: `[.](` is a defanged dot. */
const isTarget = (text: string): boolean => text.includes('%') || (/[.:]/.test(text) && /[\p{L}\p{N}]/u.test(text));

/** A link that is percent-encoded as a whole, up to as often as is followed. */
const ENCODED =
  /^(?:[a-z][a-z0-9+.*_-]{0,63}(?:%(?:25){0,6}3a|:\/?%(?:25){0,6}2f)|%(?:25){0,6}2f|(?:https?:\/\/)?[\w.-]{1,253}%(?:25){0,6}(?:2f|3a))/i;

/** Decodes once. A broken escape leaves those beyond ASCII as they are. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
};

const APP = /^([a-z][a-z0-9+.-]{0,63}):/i;
/** Schemes that only stand before a host, an account or content, or whose links share a link rather than open it. */
const NO_APP =
  /^(?:https?|wss?|ftps?|sftp|ssh|mailto|sms|tel|ipfs|ipns|dweb|wc|magnet|tg|twitter|x|whatsapp|instagram|barcelona|fb|reddit|linkedin|discord|youtube|vnd\.youtube|market|at):/i;
/** A web link after an app's own command: in its path, or a parameter. */
const CARRIED = /(?<=[=/:])https?(?::\/\/|%(?:25)*3a)/gi;

/**
 * The only web link that the link of an unknown app has, because which of two the app opens is unknown. A host after
 * the scheme is what the app opens.
 */
const onlyCarried = (text: string): readonly string[] => {
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
const MAX_APP_LENGTH = 4_096;

const INTENT = /^intent:(?:\/\/)?([^#]*)#Intent;([^]*)$/i;

/** Android opens the link, or another one if no app takes the link. */
const ofIntent = (text: string): readonly string[] => {
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
const MAX_PARAMETERS = 32;

/** What follows an app's scheme, as the rest of a location. */
const restOfApp = (text: string): string => `/${text.slice(text.indexOf(':') + 1).replace(/^[\\/]+/, '')}`;

const HAS_SCHEME = /^(?:[a-z][a-z0-9+-]*(?::|%(?:25)*3a)|[a-z][a-z0-9+.-]*:\/\/)/i;
/** A browser opens a host without a scheme over HTTPS. */
const asOpened = (link: string): string => (HAS_SCHEME.test(link) ? link : `https://${link}`);

const matchForm = ({ segments, parameter }: Form, path: string, rest: string): readonly string[] => {
  let at = 0;
  for (const segment of segments) {
    while (path[at] === '/') at += 1;
    const slash = path.indexOf('/', at);
    const end = slash === -1 ? path.length : slash;
    if (at === end || (segment !== '*' && path.slice(at, end).toLowerCase() !== segment)) return [];
    at = end;
  }
  if (parameter === undefined) {
    while (path[at] === '/') at += 1;
    const query = rest.search(/[?#]/);
    const link = path.slice(at) + (query === -1 ? '' : rest.slice(query));
    return /[.:%]/.test(path.slice(at)) ? [asOpened(link)] : [];
  }
  const values = new Set<string>();
  for (const [name, value] of queryOf(rest))
    if (name.toLowerCase() === parameter && value !== '') values.add(asOpened(value));
  return [...values];
};

const byForm = (carrier: string, rest: string): readonly string[] => {
  const forms = BY_CARRIER.get(carrier);
  if (forms === undefined) return [];
  const path = pathOf(rest);
  for (const form of forms) {
    const links = matchForm(form, path, rest);
    if (links.length > 0) return links;
  }
  return [];
};

/** A text and what it carries. */
interface Step {
  /** The links that the text opens: more than one if which of them depends on the app. */
  readonly links: readonly string[];
  readonly carrier?: Location;
  /** The carrier is what the text as sent names. */
  readonly isWhole?: boolean;
}
const NOTHING: Step = { links: [] };

const ofLocation = (carrier: Location): Step => ({ links: byForm(carrier.host, carrier.rest), carrier });

const stepFrom = (sent: string): Step => {
  const text = withoutCopied(sent);
  const meant = refang(text);
  const web = locateWeb(text, meant);
  if (web !== undefined) return { ...ofLocation(web), isWhole: text === sent };
  const scheme = APP.exec(meant)?.[1]!.toLowerCase();
  if (scheme !== undefined) {
    if (scheme === 'intent') return { links: ofIntent(meant) };
    const known = byForm(`${scheme}:`, restOfApp(meant));
    if (known.length > 0) return { links: known };
    if (isInternalScheme(meant)) return NOTHING;
  }
  if (MAY_BE_NOTATION.test(sent))
    for (const notation of NOTATIONS) {
      const link = notation.exec(sent)?.[1];
      if (link !== undefined && isTarget(link)) return { links: [link] };
    }
  if (scheme !== undefined) {
    const only = onlyCarried(meant);
    if (only.length > 0) return { links: only };
  }
  // A host of the web without a scheme, such as `metamask.app.link/dapp/…`.
  const bare = scheme === undefined && /^[\w.-]{1,253}[/?]/.test(meant) ? parseLocation(meant) : undefined;
  if (bare !== undefined) return ofLocation(bare);
  if (meant.includes('%') && ENCODED.test(meant) && locateMeant(meant) === undefined)
    return { links: [decoded(meant)] };
  return NOTHING;
};

/** A carrier in a carrier is followed this often. */
const MAX_STEPS = 6;

/** What a text opens, through any carriers. */
interface Unfolded {
  /** The text that is meant; undefined if which one cannot be told. */
  readonly text: string | undefined;
  /** The web addresses that carry it: if one of them is bad, so is the text. */
  readonly carriers: readonly Location[];
  /** What the text names, if finding its carriers has found out. */
  readonly location?: Location;
}

const NO_CARRIERS: readonly Location[] = [];

/** Follows the links that a text carries. Takes time proportional to the length of the text. */
export const unfold = (sent: string, plain?: Location): Unfolded => {
  let step = plain === undefined ? stepFrom(sent) : ofLocation(plain);
  if (step.links.length === 0)
    return { text: sent, carriers: NO_CARRIERS, ...(step.isWhole === true && { location: step.carrier! }) };
  const carriers: Location[] = [];
  let text = sent;
  for (let steps = 0; step.links.length > 0; steps += 1) {
    if (step.carrier !== undefined) carriers.push(step.carrier);
    if (steps === MAX_STEPS) return { text: undefined, carriers };
    text = step.links[0]!;
    if (step.links.length > 1) {
      // A command of an app has no host with a dot.
      const ends = step.links.slice(0, 3).map((link) => ({ link, at: unfoldOnce(link) }));
      const hosts = ends.filter(({ at }) => at !== undefined && /[.:]/.test(at.host));
      if (step.links.length > ends.length || new Set(hosts.map(({ at }) => at!.host)).size > 1)
        return { text: undefined, carriers: [...carriers, ...hosts.map(({ at }) => at!)] };
      text = hosts[0]?.link ?? text;
    }
    step = stepFrom(text);
  }
  return { text, carriers };
};

/** Where one of several links leads, past one carrier. */
const unfoldOnce = (link: string): Location | undefined => {
  const [inner, ...others] = stepFrom(link).links;
  const text = inner === undefined || others.length > 0 ? link : inner;
  return parsePlainLocation(text) ?? locateMeant(withoutCopied(text));
};

const locateIn = (sent: string, locate: (text: string) => Location | undefined): Location | undefined => {
  const { text } = unfold(sent, parsePlainLocation(sent));
  return text === undefined ? undefined : (locateWeb(text) ?? readCopied(text, locate));
};

/** The location that a copied text names or carries: an app's link has none. */
export const locateCopied = (text: string): Location | undefined => locateIn(text, (link) => locateMeant(link));

/** The location that a copied text leads to, in any form that a platform hands out. */
export const locateCopiedLink = (text: string): Location | undefined => locateIn(text, (link) => locateLink(link));
