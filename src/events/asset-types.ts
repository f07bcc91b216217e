/**
 * The asset types that this service knows. A key without an organization may also send unknown types (any upper-case
 * name). A key of an organization may not send unknown types, because such a key could fill the tables with types.
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
