import { type Location, parseDefangedLocation, refang } from './location.js';
import { decodeOnce } from './copied-text.js';

/**
 * Web equivalents of app schemes. Web links of some platforms have the name directly after the host, where an app link
 * has a command (`tg://msg`). The equivalents of these app links begin with `-/`.
 */
const APPS: Readonly<Record<string, string>> = {
  tg: 'https://t.me/-/',
  twitter: 'https://x.com/-/',
  x: 'https://x.com/-/',
  whatsapp: 'https://api.whatsapp.com/',
  instagram: 'https://instagram.com/-/',
  barcelona: 'https://threads.net/-/',
  fb: 'https://facebook.com/-/',
  reddit: 'https://reddit.com/',
  linkedin: 'https://linkedin.com/',
  discord: 'https://discord.com/',
  youtube: 'https://youtube.com/',
  'vnd.youtube': 'https://youtube.com/',
  market: 'https://play.google.com/store/apps/',
  at: 'https://bsky.app/profile/',
};
/** Matches an app link, unless a host follows the scheme, because most of these schemes can also precede a web link. */
const APP = /^(tg(?=:)|[a-z][a-z.]{0,15}(?=:\/\/)):\/*(?!\/|[^/?#]{0,253}\.)/i;
const AT = /^at:\/\/(?=[^/])/i;
/** The SSH form of a Git repository: `git@github.com:NAME/REPOSITORY`. */
const SECURE_COPY = /^git@([a-z0-9.-]{1,253}):(?!\d*(?:\/|$))/i;

/** The page that Edge shows in its reader: `read://https_HOST/?url=…`. */
const READER = /^read:\/*(https?)_/i;

/** A remote file, possibly by WebDAV: `file://HOST/…`, `file:////HOST/…`, `\\\\HOST@SSL@443\\…`. */
const REMOTE_FILE =
  /^(?:file:[\\/]{2}(?:[\\/]{2,3})?|\\\\(?=[^\\/]+@(?:ssl|\d{1,5})[@\\/]))([^\\/@?#]{1,253})(?:@ssl)?(?:@\d{1,5})?(?=[\\/]|$)/i;
/** A search in Windows, which opens a place. */
const SEARCH = /^search(?:-ms)?:[^]*?\blocation(?::|%3a)([^&]+)[^]*$/i;

/** Converts an app link or an SSH repository address to a web link; returns any other text unchanged. */
const asWebLink = (text: string): string => {
  if (AT.test(text)) return text.replace(AT, APPS['at']!);
  if (READER.test(text)) return text.replace(READER, '$1://');
  const [start, scheme] = APP.exec(text) ?? [];
  const site = scheme === undefined ? undefined : APPS[scheme.toLowerCase()];
  if (start !== undefined && site !== undefined) return site + text.slice(start.length);
  const place = text.replace(SEARCH, (_, found: string) => decodeOnce(found));
  return place.replace(REMOTE_FILE, 'file://$1').replace(SECURE_COPY, 'ssh://$1/');
};

const WEB = /^https?:/i;

/** Parses an `http:` or `https:` address as a browser does; returns undefined for any other text. */
export const locateWeb = (text: string, refanged = refang(text)): Location | undefined =>
  WEB.test(refanged) ? parseDefangedLocation(text) : undefined;

/** Parses a web link, an app link of a known platform, or an address without a scheme. */
export const locateLink = (text: string): Location | undefined => parseDefangedLocation(asWebLink(text));
