import { type Location, locateMeant, refang } from './location.js';

/**
 * Schemes of apps, whose links look like the platform's own without a host. If names follow the host directly, a
 * dash stands between, because an app has commands there (`tg://msg`).
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
/** Not if a host follows: most of these schemes can also stand before a whole link. */
const APP = /^(tg(?=:)|[a-z][a-z.]{0,15}(?=:\/\/)):\/*(?!\/|[^/?#]{0,253}\.)/i;
const AT = /^at:\/\/(?=[^/])/i;
/** As `git clone` takes it: `git@github.com:NAME/REPOSITORY`. */
const SECURE_COPY = /^git@([a-z0-9.-]{1,253}):(?!\d*(?:\/|$))/i;

/** A platform's own form of a link, rewritten for the web; any other text as it is. */
export const asWebLink = (text: string): string => {
  if (AT.test(text)) return text.replace(AT, APPS['at']!);
  const [start, scheme] = APP.exec(text) ?? [];
  const site = scheme === undefined ? undefined : APPS[scheme.toLowerCase()];
  if (start !== undefined && site !== undefined) return site + text.slice(start.length);
  return text.replace(SECURE_COPY, 'ssh://$1/');
};

const WEB = /^https?:/i;

/** A web address, as a browser finds it; undefined for everything else. */
export const locateWeb = (text: string, meant = refang(text)): Location | undefined =>
  WEB.test(meant) ? locateMeant(text) : undefined;

/** A link in any form that a platform hands out, or an address without a scheme. */
export const locateLink = (text: string): Location | undefined => locateMeant(asWebLink(text));
