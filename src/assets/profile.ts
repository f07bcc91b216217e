import { queryOf } from './location.js';

/** A profile, channel, group, app or collection on a platform. */
export interface Profile {
  /** Asset type. */
  readonly type: string;
  /** Normalised: equal for all links to it. */
  readonly name: string;
}

type Read = (segments: readonly string[], query: URLSearchParams) => string | undefined;

/** Names that the site itself uses. */
const reserved = (names: string): ReadonlySet<string> => new Set(names.split(' '));

const lower = (text: string | undefined): string | undefined => text?.toLowerCase();
const handle = (text: string | undefined, pattern: RegExp): string | undefined => {
  const name = text?.startsWith('@') ? text.slice(1) : text;
  return name !== undefined && pattern.test(name) ? name.toLowerCase() : undefined;
};

const TWITTER_OWN = reserved(
  'home explore search i intent share hashtag settings messages notifications login signup tos privacy about download jobs',
);
const TELEGRAM_OWN = reserved(
  'share addstickers addemoji addtheme addlist setlanguage proxy socks login confirmphone bg iv invoice boost giftcode',
);
const INSTAGRAM_OWN = reserved('p reel reels tv explore accounts direct about developer legal stories');
const FACEBOOK_OWN = reserved(
  'sharer sharer.php share watch events marketplace gaming login help policies privacy dialog plugins photo photo.php story.php permalink.php hashtag reel media',
);
const GITHUB_OWN = reserved(
  'about apps codespaces collections contact customer-stories enterprise explore features issues join login marketplace notifications orgs organizations pricing pulls search security settings site sponsors topics trending',
);
const MEDIUM_OWN = reserved('m me tag search about');
const TIKTOK_NAME = /^[a-z0-9._]{2,24}$/i;

const twitter: Read = ([first]) =>
  TWITTER_OWN.has(first?.toLowerCase() ?? '') ? undefined : handle(first, /^\w{1,15}$/);

const telegram: Read = ([first, second], query) => {
  if (first === undefined || TELEGRAM_OWN.has(first.toLowerCase())) return undefined;
  // Invitation codes are case-sensitive.
  if (first.startsWith('+')) return /^\+[\w-]{5,64}$/.test(first) ? first : undefined;
  if (first.toLowerCase() === 'joinchat') return second && /^[\w-]{5,64}$/.test(second) ? `+${second}` : undefined;
  if (first.toLowerCase() === 's') return handle(second, /^[a-z]\w{2,31}$/i);
  if (first.toLowerCase() === 'c') return second && /^\d{1,20}$/.test(second) ? `c/${second}` : undefined;
  if (first.toLowerCase() === 'resolve') return handle(query.get('domain') ?? undefined, /^[a-z]\w{2,31}$/i);
  return handle(first, /^[a-z]\w{2,31}$/i);
};

const discord: Read = ([first, second]) => {
  if (first?.toLowerCase() === 'invite') return code(second);
  return undefined;
};
const code = (text: string | undefined): string | undefined => (text && /^[\w-]{2,64}$/.test(text) ? text : undefined);
const discordUser: Read = ([, id]) => (id && /^\d{15,21}$/.test(id) ? id : undefined);

const facebook: Read = ([first, second, third], query) => {
  const name = lower(first);
  if (name === undefined) return undefined;
  if (name === 'profile.php') return /^\d{1,20}$/.test(query.get('id') ?? '') ? query.get('id')! : undefined;
  if (name === 'groups') return second && /^[\w.-]{1,100}$/.test(second) ? `groups/${second.toLowerCase()}` : undefined;
  if (name === 'people') return third && /^\d{1,20}$/.test(third) ? third : undefined;
  if (name === 'pages') return third && /^\d{1,20}$/.test(third) ? third : undefined;
  return FACEBOOK_OWN.has(name) ? undefined : handle(name, /^[a-z0-9.-]{2,100}$/);
};

const linkedin: Read = ([first, second]) =>
  ['in', 'company', 'school', 'showcase', 'groups'].includes(lower(first) ?? '') && second
    ? `${first!.toLowerCase()}/${second.toLowerCase()}`
    : undefined;

const youtube: Read = ([first, second]) => {
  if (first?.startsWith('@')) return first.length > 1 && first.length <= 64 ? first.toLowerCase() : undefined;
  if (lower(first) === 'channel') return second && /^UC[\w-]{22}$/.test(second) ? `channel/${second}` : undefined;
  if (['c', 'user'].includes(lower(first) ?? '') && second) return `${first!.toLowerCase()}/${second.toLowerCase()}`;
  return undefined;
};

const reddit: Read = ([first, second]) => {
  const kind = lower(first);
  if (!second || !/^[\w-]{2,32}$/.test(second)) return undefined;
  if (kind === 'r') return `r/${second.toLowerCase()}`;
  return kind === 'u' || kind === 'user' ? `u/${second.toLowerCase()}` : undefined;
};

const github: Read = ([first, second]) => {
  if (first === undefined || GITHUB_OWN.has(first.toLowerCase()) || !/^[a-z0-9][a-z0-9-]{0,38}$/i.test(first))
    return undefined;
  return second && /^[\w.-]{1,100}$/.test(second)
    ? `${first}/${second.replace(/\.git$/i, '')}`.toLowerCase()
    : first.toLowerCase();
};

const opensea: Read = ([first, second]) => {
  if (first === undefined) return undefined;
  if (['collection', 'assets', 'item'].includes(first.toLowerCase()))
    return first.toLowerCase() === 'collection' && second ? `collection/${second.toLowerCase()}` : undefined;
  return handle(first, /^[\w.-]{1,64}$/);
};

const chromeWebStore: Read = (segments) => segments.map(lower).findLast((segment) => /^[a-p]{32}$/.test(segment!));

interface Site {
  readonly type: string;
  readonly read: Read;
}

const site = (type: string, read: Read): Site => ({ type, read });
const named = (type: string, pattern: RegExp, own: ReadonlySet<string> = reserved('')): Site =>
  site(type, ([first]) => (own.has(lower(first) ?? '') ? undefined : handle(first, pattern)));
const atNamed = (type: string, pattern: RegExp): Site =>
  site(type, ([first]) => (first?.startsWith('@') ? handle(first, pattern) : undefined));

/** Profile sites by host, without `www.`, `m.` or `mobile.`. */
const SITES: ReadonlyMap<string, readonly Site[]> = new Map(
  Object.entries({
    'x.com twitter.com nitter.net fxtwitter.com vxtwitter.com': [site('TWITTER', twitter)],
    't.me telegram.me telegram.dog web.telegram.org': [site('TELEGRAM', telegram)],
    'discord.gg': [site('DISCORD', ([first]) => code(first))],
    'discord.com discordapp.com': [
      site('DISCORD_USER', (segments, query) =>
        lower(segments[0]) === 'users' ? discordUser(segments, query) : undefined,
      ),
      site('DISCORD', discord),
    ],
    'facebook.com fb.com fb.me': [site('FACEBOOK', facebook)],
    'instagram.com instagr.am': [named('INSTAGRAM', /^[a-z0-9._]{1,30}$/i, INSTAGRAM_OWN)],
    'linkedin.com': [site('LINKEDIN', linkedin)],
    'youtube.com': [site('YOUTUBE', youtube)],
    'reddit.com old.reddit.com new.reddit.com': [site('REDDIT', reddit)],
    'tiktok.com': [atNamed('TIKTOK', TIKTOK_NAME)],
    'threads.net threads.com': [atNamed('THREADS', /^[a-z0-9._]{1,30}$/i)],
    'medium.com': [
      site('MEDIUM', ([first]) => (MEDIUM_OWN.has(lower(first) ?? '') ? undefined : handle(first, /^[\w.-]{1,64}$/))),
    ],
    'github.com': [site('GITHUB', github)],
    'bsky.app': [
      site('BLUESKY', ([first, second]) =>
        lower(first) === 'profile' && second && /^[\w.:-]{3,253}$/.test(second) ? second.toLowerCase() : undefined,
      ),
    ],
    'warpcast.com farcaster.xyz': [named('FARCASTER', /^[a-z0-9][a-z0-9.-]{0,31}$/i, reserved('~'))],
    'wa.me': [site('WHATSAPP', ([first]) => digits(first))],
    'api.whatsapp.com': [site('WHATSAPP', (_, query) => digits(query.get('phone') ?? undefined))],
    'chat.whatsapp.com': [site('WHATSAPP', ([first]) => code(first))],
    'opensea.io': [site('OPENSEA', opensea)],
    'play.google.com': [
      site('GOOGLE_APP_STORE', (_, query) =>
        /^[a-z]\w*(\.\w+)+$/i.test(query.get('id') ?? '') ? query.get('id')! : undefined,
      ),
    ],
    'apps.apple.com itunes.apple.com': [
      site('APPLE_APP_STORE', (segments) => segments.findLast((part) => /^id\d{5,12}$/i.test(part))?.slice(2)),
    ],
    'chrome.google.com chromewebstore.google.com': [site('CHROME_WEB_STORE', chromeWebStore)],
  }).flatMap(([hosts, sites]) => hosts.split(' ').map((host) => [host, sites] as const)),
);

const digits = (text: string | undefined): string | undefined => {
  const number = text?.replace(/[+\s().-]/g, '');
  return number && /^\d{5,15}$/.test(number) ? number : undefined;
};

/** All asset types of profiles. */
export const PROFILE_TYPES: ReadonlySet<string> = new Set([...SITES.values()].flat().map(({ type }) => type));

const sitesOf = (host: string): readonly Site[] | undefined =>
  SITES.get(host) ?? SITES.get(host.replace(/^(?:www|m|mobile|web|l|app)\./, ''));

/** Whether this host has profiles, so that its verdict says nothing about one of them. */
export const hostsProfiles = (host: string): boolean => sitesOf(host) !== undefined;

/** The alternative to `t.me/NAME`. */
const TELEGRAM_HOST = /^([a-z]\w{3,31})\.t\.me$/;

/** The profile that has this host as its own. */
export const profileHost = (host: string): Profile | undefined => {
  const name = host.endsWith('.t.me') ? TELEGRAM_HOST.exec(host)?.[1] : undefined;
  return name === undefined ? undefined : { type: 'TELEGRAM', name };
};

/** Sites whose profiles publish: a page under a profile is a post, an asset of its own. */
const PUBLISHING: ReadonlySet<string> = new Set(['MEDIUM']);

/** Whether the link leads to a post rather than to its profile. */
export const isPost = ({ type }: Profile, path: string): boolean => PUBLISHING.has(type) && path.indexOf('/', 1) !== -1;

/**
 * @param path from `pathOf`
 * @param rest what follows the host in the link, for its query
 */
export const readProfileLink = (host: string, path: string, rest = ''): Profile | undefined => {
  const sites = sitesOf(host);
  if (sites === undefined || (path === '' && !rest.includes('?'))) return undefined;
  const query = queryOf(rest);
  const segments = path
    .split('/', 8)
    .filter((segment) => segment !== '')
    .map(unescaped);
  for (const { type, read } of sites) {
    const name = read(segments, query);
    if (name !== undefined) return { type, name };
  }
  return undefined;
};

/** No name is longer, so decoding it would be a waste. */
const LONGEST_SEGMENT = 4_096;

const unescaped = (segment: string): string => {
  if (!segment.includes('%') || segment.length > LONGEST_SEGMENT) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

/** Normalises a bare name that is not a link. */
export const profileName = (type: string, text: string): string => {
  const bare = text.startsWith('@') && type !== 'YOUTUBE' ? text.slice(1) : text;
  switch (type) {
    case 'WHATSAPP':
      return digits(bare) ?? bare;
    case 'DISCORD':
    case 'GOOGLE_APP_STORE':
      return bare;
    case 'APPLE_APP_STORE':
      return bare.replace(/^id(?=\d)/i, '');
    case 'TELEGRAM':
      return bare.startsWith('+') ? bare : bare.toLowerCase();
    case 'REDDIT':
      return bare
        .replace(/^\/?(?:u|user)\//i, 'u/')
        .replace(/^\/?r\//i, 'r/')
        .toLowerCase();
    case 'YOUTUBE':
      return bare.startsWith('@')
        ? bare.toLowerCase()
        : /^UC[\w-]{22}$/.test(bare)
          ? `channel/${bare}`
          : `@${bare.toLowerCase()}`;
    default:
      return bare.toLowerCase();
  }
};
