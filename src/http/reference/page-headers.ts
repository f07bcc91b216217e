/**
 * The headers of a page that keeps the API key of its user. The page cannot be framed, sends no `Referer` header, and
 * shares no browsing context with a page of another site, regardless of which page opened the other page.
 * @param policy the Content-Security-Policy
 */
export const pageHeaders = (policy: string): Readonly<Record<string, string>> => ({
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
});
