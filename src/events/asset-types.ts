/**
 * The types of assets that this service knows. An upstream whose key names no organization may send newer ones, any
 * upper-case name: one organization must not fill the tables with types without end.
 */
export const ASSET_TYPES: ReadonlySet<string> = new Set([
  'URL',
  'PAGE',
  'ADDRESS',
  'TWITTER',
  'TELEGRAM',
  'DISCORD',
  'DISCORD_USER',
  'EMAIL',
  'FACEBOOK',
  'INSTAGRAM',
  'LINKEDIN',
  'YOUTUBE',
  'REDDIT',
  'TIKTOK',
  'THREADS',
  'MEDIUM',
  'GITHUB',
  'BLUESKY',
  'FARCASTER',
  'WHATSAPP',
  'IPFS',
  'OPENSEA',
  'GOOGLE_APP_STORE',
  'APPLE_APP_STORE',
  'CHROME_WEB_STORE',
]);
