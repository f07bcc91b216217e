import type { ReadName, Site } from './site.js';

/** Returns a parser of case-insensitive names. The names may begin with `@`. */
const caseInsensitive =
  (pattern: RegExp): ReadName =>
  (text) => {
    const name = text.startsWith('@') ? text.slice(1) : text;
    return pattern.test(name) ? name.toLowerCase() : undefined;
  };

/** Returns a parser of case-sensitive names. */
const caseSensitive =
  (pattern: RegExp): ReadName =>
  (text) =>
    pattern.test(text) ? text : undefined;

const NUMBER = caseSensitive(/^\d{1,20}$/);
const CODE = caseSensitive(/^[\w-]{2,64}$/);
/** Parses a telephone number, and removes its separators. */
export const phone: ReadName = (text) => {
  const digits = text.length > 64 ? '' : text.replace(/[+\s().-]/g, '');
  return /^\d{5,15}$/.test(digits) ? digits : undefined;
};
/** A name in any script. */
const ANY_SCRIPT_NAME = caseInsensitive(/^[^\s/?#"<>[\](){}]{1,200}$/);
const CHANNEL = caseSensitive(/^UC[\w-]{22}$/);
const EXTENSION = caseInsensitive(/^[a-p]{32}$/i);
const REPOSITORY: ReadName = (text) =>
  /^[\w.-]{1,100}$/.test(text) ? text.replace(/\.git$/i, '').toLowerCase() || undefined : undefined;

/** Pattern of language and country subdomains, such as `de` and `pt-br`. */
const LOCALE = '[a-z]{2}(?:-[a-z]{2,4})?';

const GITHUB_NAME = caseInsensitive(/^[a-z0-9][a-z0-9-]{0,38}$/i);
const TELEGRAM_NAME = caseInsensitive(/^[a-z]\w{2,31}$/i);
const MEDIUM_NAME = caseInsensitive(/^[\w.-]{1,64}$/);

/** Facebook ignores periods in the names of people and pages. */
export const withoutPeriods = (name: string): string | undefined => name.replaceAll('.', '') || undefined;
const FACEBOOK_NAME = caseInsensitive(/^(?!.{0,96}\.php$)[a-z0-9-](?:[a-z0-9.-]{0,98}[a-z0-9-])$/i);

/** The platforms whose links are profiles, channels, groups, apps or collections. */
export const SITES: readonly Site[] = [
  {
    type: 'TWITTER',
    hosts: 'x.com twitter.com nitter.net fxtwitter.com vxtwitter.com fixupx.com fixvx.com xcancel.com',
    subdomains: /^(?:www|m|mobile|web|l|app|pro|[dgi])$/,
    reserved:
      'home explore search search-advanced i intent share hashtag settings messages notifications login logout signup tos privacy about download jobs compose account oauth statuses who_to_follow',
    names: { name: caseInsensitive(/^\w{1,15}$/) },
    links: 'intent/user?screen_name={name} intent/follow?screen_name={name} -/user?screen_name={name} {name} #!/{name}',
  },
  {
    type: 'TELEGRAM',
    hosts: 't.me telegram.me telegram.dog',
    profileHosts: '{host}.t.me {host}.telegram.me {host}.telegram.dog',
    reserved:
      'share addstickers addemoji addtheme addlist setlanguage proxy socks login confirmphone bg iv invoice boost giftcode contact nft joinchat',
    names: {
      name: TELEGRAM_NAME,
      host: caseInsensitive(/^[a-z]\w{3,31}$/i),
      code: caseSensitive(/^[\w-]{5,64}$/),
      id: NUMBER,
      phone,
    },
    links:
      '+{code}>+{code} joinchat/{code}>+{code} -/join?invite={code}>+{code} s/{name} c/{id}>c/{id} boost/{name} boost?domain={name} -/boost?domain={name} boost?c={id}>c/{id} -/privatepost?channel={id}&post>c/{id} -/privatepost?channel={id}>c/{id} -/resolve?domain={name}&post -/resolve?domain={name}&appname -/resolve?domain={name} -/resolve?phone={phone}>+{phone} {name}',
  },
  {
    type: 'TELEGRAM',
    hosts: 'web.telegram.org',
    names: { name: TELEGRAM_NAME },
    links: '#@{name} #/im?p=@{name}',
  },
  {
    type: 'DISCORD',
    hosts: 'discord.gg',
    reserved: 'invite',
    names: { code: CODE },
    links: 'invite/{code} {code}',
  },
  {
    type: 'DISCORD',
    hosts: 'discord.com discordapp.com',
    subdomains: /^(?:www|m|mobile|web|l|app|ptb|canary)$/,
    ignoredFirstSegment: /^-$/,
    names: { code: CODE },
    links: 'invite/{code}',
  },
  {
    type: 'DISCORD_USER',
    hosts: 'discord.com discordapp.com',
    subdomains: /^(?:www|m|mobile|web|l|app|ptb|canary)$/,
    ignoredFirstSegment: /^-$/,
    names: { id: caseSensitive(/^\d{15,21}$/) },
    shown: 'users/{name}',
    links: 'users/{id}',
  },
  {
    type: 'FACEBOOK',
    hosts: 'facebook.com fb.com fb.me m.me messenger.com',
    subdomains: new RegExp(`^(?:www|m|mobile|web|l|lm|app|mbasic|touch|business|free|iphone|upload|d|x|${LOCALE})$`),
    reserved:
      'sharer sharer.php share watch events marketplace gaming login help policies privacy dialog plugins photo photo.php story.php permalink.php hashtag reel reels media groups pg people pages public messages stories p t l.php r.php home.php login.php profile.php business ads legal settings friends recover live games directory bookmarks notifications search permalink posts videos photos notes about cm ch j',
    ignoredFirstSegment: /^pg$/i,
    names: {
      name: (text) => withoutPeriods(FACEBOOK_NAME(text) ?? ''),
      group: caseInsensitive(/^[\w.-]{1,100}$/),
      id: NUMBER,
      // The id at the end of the path, as in `p/NAME-123456`.
      page: (text) => /-(\d{5,20})$/.exec(text.slice(-64))?.[1],
    },
    links:
      'profile.php?id={id} -/profile/{id} -/page/{id} groups/{group}>groups/{group} -/group/{group}>groups/{group} people/*/{id} pages/*/{id} p/{page} messages/t/{name} t/{name} {name} #!/profile.php?id={id} #!/{name}',
  },
  {
    type: 'INSTAGRAM',
    hosts: 'instagram.com instagr.am',
    reserved:
      'p reel reels tv explore accounts direct about developer legal stories highlights challenge oauth session channel share _u _n',
    ignoredFirstSegment: /^_[un]$/i,
    names: { name: caseInsensitive(/^[a-z0-9._]{1,30}$/i) },
    links: 'stories/{name} -/user?username={name} {name}',
  },
  {
    type: 'INSTAGRAM',
    hosts: 'ig.me',
    names: { name: caseInsensitive(/^[a-z0-9._]{1,30}$/i) },
    links: 'm/{name}',
  },
  {
    type: 'LINKEDIN',
    hosts: 'linkedin.com',
    subdomains: /^(?:www|m|mobile|touch|web|l|app|[a-z]{2,3})$/,
    ignoredFirstSegment: /^(?:mwlite|comm|m)$/i,
    names: { name: ANY_SCRIPT_NAME },
    links:
      'in/{name}>in/{name} company/{name}>company/{name} school/{name}>school/{name} showcase/{name}>showcase/{name} groups/{name}>groups/{name}',
  },
  {
    type: 'YOUTUBE',
    hosts: 'youtube.com',
    subdomains: /^(?:www|m|mobile|web|l|app|music|gaming|tv|studio|[a-z]{2})$/,
    names: { name: caseInsensitive(/^[^\s/?#"<>@[\](){}]{1,63}$/), channel: CHANNEL, words: ANY_SCRIPT_NAME },
    links: '@{name}>@{name} channel/{channel}>channel/{channel} c/{words}>c/{words} user/{words}>user/{words}',
  },
  {
    type: 'REDDIT',
    hosts: 'reddit.com',
    subdomains: new RegExp(`^(?:www|m|mobile|web|l|app|old|new|np|sh|i|amp|${LOCALE})$`),
    names: {
      name: caseInsensitive(/^[\w-]{2,32}$/),
      user: caseInsensitive(/^[\w-]{2,30}$/),
      recipient: (text) => /^\/?(?:u\/)?([\w-]{2,32})$/i.exec(text)?.[1]?.toLowerCase(),
    },
    links:
      'r/u_{user}>u/{user} r/{name}>r/{name} u/{name}>u/{name} user/{name}>u/{name} message/compose?to={recipient}>u/{recipient}',
  },
  {
    type: 'TIKTOK',
    hosts: 'tiktok.com',
    ignoredFirstSegment: /^embed$/i,
    names: { name: caseInsensitive(/^[a-z0-9._]{2,24}$/i) },
    shown: '@{name}',
    links: '@{name}',
  },
  {
    type: 'THREADS',
    hosts: 'threads.net threads.com',
    names: { name: caseInsensitive(/^[a-z0-9._]{1,30}$/i) },
    shown: '@{name}',
    links: '@{name} intent/follow?username={name} -/user?username={name}',
  },
  {
    type: 'MEDIUM',
    hosts: 'medium.com',
    profileHosts: '{host}.medium.com',
    reserved:
      'm me tag tags search about p u jobs policy topics archive new-story plans membership creators gift partner-program feed www help blog link api miro cdn-images-1 status glyph',
    ignoredFirstSegment: /^feed$/i,
    names: { name: MEDIUM_NAME, host: caseInsensitive(/^[a-z0-9-]{1,63}$/) },
    shown: '@{name}',
    links: '@{name}',
    hasPosts: true,
  },
  {
    type: 'GITHUB',
    hosts: 'github.com github.dev',
    reserved:
      'about apps codespaces collections contact customer-stories enterprise explore features issues join login logout marketplace notifications orgs organizations pricing pulls search security settings site sponsors topics trending users gist new account dashboard stars watching readme solutions resources team copilot discussions events premium-support open-source',
    names: { name: GITHUB_NAME, repository: REPOSITORY },
    links: 'orgs/{name} users/{name} sponsors/{name} {name}/{repository}>{name}/{repository} {name}',
  },
  {
    type: 'GITHUB',
    hosts: 'gist.github.com gist.githubusercontent.com',
    reserved: 'discover search starred mine login join',
    // An anonymous gist has a hexadecimal id in place of the name.
    names: { name: (text) => (/^(?:[0-9a-f]{20}|[0-9a-f]{32})$/.test(text) ? undefined : GITHUB_NAME(text)) },
    links: '{name}',
    hasPosts: true,
  },
  {
    type: 'GITHUB',
    hosts: 'raw.githubusercontent.com codeload.github.com',
    names: { name: GITHUB_NAME, repository: REPOSITORY },
    links: '{name}/{repository}>{name}/{repository} {name}',
    hasPosts: true,
  },
  {
    type: 'BLUESKY',
    hosts: 'bsky.app',
    profileHosts: '{host}.bsky.social>{host}.bsky.social',
    reserved: 'www staging',
    names: { name: caseInsensitive(/^[\w.:-]{3,253}$/), host: caseInsensitive(/^[a-z0-9-]{3,63}$/) },
    shown: 'profile/{name}',
    links: 'profile/{name}',
  },
  {
    type: 'FARCASTER',
    hosts: 'warpcast.com farcaster.xyz',
    reserved: '~ miniapps',
    names: { name: caseInsensitive(/^[a-z0-9][a-z0-9.-]{0,31}$/i) },
    links: '{name}',
  },
  {
    type: 'WHATSAPP',
    hosts: 'wa.me',
    names: { phone },
    links: 'send?phone={phone} c/{phone} p/*/{phone} {phone} ?phone={phone}',
  },
  {
    type: 'WHATSAPP',
    hosts: 'api.whatsapp.com web.whatsapp.com whatsapp.com',
    subdomains: /^(?:www|m|v)$/,
    names: { phone, code: CODE },
    links: 'channel/{code}>channel/{code} chat?code={code} send?phone={phone} ?phone={phone}',
  },
  {
    type: 'WHATSAPP',
    hosts: 'chat.whatsapp.com',
    reserved: 'invite',
    names: { code: CODE },
    links: 'invite/{code} {code}',
  },
  {
    type: 'OPENSEA',
    hosts: 'opensea.io',
    reserved:
      'assets item collection rankings activity studio blog learn drops account about careers category tokens profile privacy tos help swap discover explore-collections',
    ignoredFirstSegment: /^(?:de|de-de|es|fr|it|ja|kr|ko|pt|pt-br|ru|tr|zh-cn|zh-tw)$/i,
    names: { name: caseInsensitive(/^[\w.-]{1,64}$/), collection: ANY_SCRIPT_NAME },
    links: 'collection/{collection}>collection/{collection} {name}',
  },
  {
    type: 'GOOGLE_APP_STORE',
    hosts: 'play.google.com market.android.com',
    names: { app: caseSensitive(/^[a-z]\w{0,100}(?:\.\w{1,100}){1,20}$/i) },
    shown: 'store/apps/details?id={name}',
    links:
      'apps/testing/{app} store/apps/testing/{app} store/apps/details/*?id={app} store/apps/details?id={app} store/apps/datasafety?id={app} work/apps/details?id={app} apps/details?id={app} details?id={app} search?q=pname:{app} store/search?q=pname:{app}',
  },
  {
    type: 'APPLE_APP_STORE',
    hosts: 'apps.apple.com itunes.apple.com',
    ignoredFirstSegment: /^[a-z]{2}$/i,
    names: { id: caseSensitive(/^\d{5,12}$/) },
    shown: 'app/id{name}',
    links: 'app/*/id{id} app/id{id} webobjects/*/*/viewsoftware?id={id}',
  },
  {
    type: 'CHROME_WEB_STORE',
    hosts: 'chromewebstore.google.com chrome.google.com',
    ignoredFirstSegment: /^webstore$/i,
    names: { id: EXTENSION },
    shown: 'detail/{name}',
    links: 'detail/*/{id} detail/{id}',
  },
];
