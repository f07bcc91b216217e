/**
 * The asset types this service knows. An upstream key without an organization may send newer types, any upper-case
 * name; an organization's own key may not, since it could fill the tables with types.
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
