/**
 * The headers of a page that keeps a reader's key: never framed, no address given away, and no window shared with
 * another site's page, whether it opened this one or was opened by it.
 * @param policy the Content-Security-Policy
 */
export const pageHeaders = (policy: string): Readonly<Record<string, string>> => ({
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
});
