import { bech32 } from '@scure/base';
import { decodeOnce } from '../copied-text.js';
import { isDnsName, queryOf } from '../location.js';
import { PROXIES } from './carrier-table.js';

/** Returns the links in an encoded text; an empty array if the text cannot be decoded. */
export type DecodeLinks = (text: string) => readonly string[];

const HAS_SCHEME = /^["'<]?(?:[a-z][a-z0-9+-]*(?::|%(?:25)*3a)|[a-z][a-z0-9+.-]*:\/\/)/i;
/** Adds `https://` to a link without a scheme, as a browser does. */
export const withScheme = (link: string): string => (HAS_SCHEME.test(link) ? link : `https://${link}`);

const fromBase64 = (text: string): readonly string[] => {
  const link = Buffer.from(text.replaceAll(' ', '+'), 'base64').toString();
  return /^[\x20-\x7e]{4,}$/.test(link) && /[.:]/.test(link) ? [withScheme(link)] : [];
};

/** A field of a JSON object. */
const LINK_OF_TOKEN = /"e"\s{0,8}:\s{0,8}"([^"\\]+)"/;
const fromToken = (text: string): readonly string[] => {
  const [encoded = ''] = text.split(/[.?#]/, 1);
  const json = Buffer.from(decodeOnce(encoded), 'base64')
    .toString()
    .replaceAll(String.raw`\/`, '/');
  const [, link] = LINK_OF_TOKEN.exec(json) ?? [];
  return link === undefined ? [] : [withScheme(link)];
};

/** `-XX` stands for a percent escape, and `_` for a slash. */
const fromDashes = (text: string): readonly string[] => [
  withScheme(decodeOnce(text.split('-').join('%').split('_').join('/'))),
];

const RUN_LENGTHS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Decodes `__LINK__;REMOVED!!…` and `___LINK___.…`. In LINK, `*` stands for the next removed character, and `**` and a
 * letter for several of them.
 */
const fromUnderscores = (text: string): readonly string[] => {
  const [, link, removed = ''] = /^_{2,3}([^]+?)_{2,3}(?:;([\w-]*)!|\.|$)/.exec(text) ?? [];
  if (link === undefined) return [];
  const characters = Buffer.from(removed, 'base64url').toString();
  if (characters === '') return [withScheme(link)];
  let at = 0;
  const take = (count: number): string => characters.slice(at, (at += count));
  return [
    withScheme(
      link.replace(/\*\*([\w-])|\*/g, (_, run?: string) => take(run === undefined ? 1 : RUN_LENGTHS.indexOf(run) + 2)),
    ),
  ];
};

const LNURL = /^(?:(?:lightning|lnurl):\/*)?(lnurl1[02-9ac-hj-np-z]{20,2048})$/i;

/** Decodes LNURL (LUD-01), a web link in bech32. */
export const linkOfLnurl = (text: string): string | undefined => {
  const [, encoded] = LNURL.exec(text) ?? [];
  const decoded = encoded && bech32.decodeUnsafe(encoded.toLowerCase() as `${string}1${string}`, false);
  const bytes = decoded && bech32.fromWordsUnsafe(decoded.words);
  return bytes ? Buffer.from(bytes).toString() : undefined;
};

const WEB_LINK_IN_TEXT = /https?:\/\/[^\s"'\\<>]+|(?<="url"\s{0,8}:\s{0,8}")[^\s"\\<>]+/gi;

/** The encodings of carried links, by the word in braces in the table of carriers. */
export const ENCODINGS: Readonly<Record<string, DecodeLinks>> = {
  link: (text) => [withScheme(text)],
  segment: (text) => [withScheme(text)],
  account: (text) => [text],
  base64: fromBase64,
  token: fromToken,
  a1base64: (text) => fromBase64(text.slice(2)),
  domain: (text) => [withScheme(text)],
  dashes: fromDashes,
  underscores: fromUnderscores,
  ru: (text) => {
    const [, link] = /(?:^|\/)RU=([^/]+)/.exec(text) ?? [];
    return link === undefined ? [] : [withScheme(decodeOnce(link))];
  },
  ethereum: (text) => [`ethereum:${text}`],
  json: (text) => (text.replaceAll(String.raw`\/`, '/').match(WEB_LINK_IN_TEXT) ?? []).map(withScheme),
};

const TRANSLATOR = '.translate.goog';
const TRANSLATOR_PARAMETER = /^_x_tr_/;

/**
 * Decodes the host of a page that Google translates, which has dashes for dots: `evil--a-example.translate.goog` shows
 * `evil-a.example`. Parameters have the start of a long host, and tell what the mark at the start of the host means:
 * https://developers.google.com/search/docs/appearance/ad-network-and-translation
 */
const translatedHost = (label: string, query: URLSearchParams): string => {
  const marks = (query.get('_x_tr_enc') ?? '').split(',');
  const encoded = (query.get('_x_tr_hp') ?? '') + label;
  const name = marks.includes('1') && encoded.startsWith('1-') ? encoded.slice('1-'.length) : encoded;
  const isPunycode = marks.includes('0') && name.startsWith('0-');
  // A dash between letters is a dot, and two dashes are one. The dashes of `xn--` are written as they are.
  const host = (isPunycode ? name.slice('0-'.length) : name).replace(/\b-\b/g, '.').replaceAll('--', '-');
  return (isPunycode ? `xn--${host}` : host).toLowerCase();
};

const withoutTranslatorParameters = (rest: string): string =>
  rest.replace(/^([^?#]*)\?([^#]*)/, (_, path: string, query: string) => {
    const kept = query.split('&').filter((parameter) => !TRANSLATOR_PARAMETER.test(parameter));
    return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
  });

/**
 * Returns the link that a proxy opens; an empty array if its host cannot be decoded.
 * @param rest path, query and fragment, as in `Location`
 * @returns undefined if the host is no proxy
 */
export const proxiedLinks = (host: string, rest: string): readonly string[] | undefined => {
  if (!host.endsWith(TRANSLATOR)) {
    const [, proxied] = PROXIES.exec(host) ?? [];
    return proxied === undefined ? undefined : [`https://${proxied}${rest}`];
  }
  const shown = translatedHost(host.slice(0, -TRANSLATOR.length), queryOf(rest));
  return isDnsName(shown) ? [`https://${shown}${withoutTranslatorParameters(rest)}`] : [];
};
