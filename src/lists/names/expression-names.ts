import { isInternalHost } from '../../assets/ip-address.js';
import { isRequestEndpoint } from '../../assets/pages/page.js';
import { isReadByService } from '../build/listed.js';
import type { Half } from '../expressions.js';

/** An expression as it is stored for other clients. */
export interface StoredName {
  readonly expression: string;
  /** Undefined: the content is blocked. Otherwise the host at or below which something is not. */
  readonly exceptionHost: string | undefined;
  /** The hash of the asset whose own status it may be; empty for an entry of a list. */
  readonly assetHash: string;
}

/** What other clients than ours can do with an expression. */
export interface NamedExpression {
  /** The key of the asset check. */
  readonly key: string;
  readonly host: string;
  /** Whether something at or below the host is not blocked, or must be asked about. Otherwise the content is blocked. */
  readonly isException: boolean;
}

/** Google has hosts that carry links in every country. */
const IS_GOOGLE = /(?:^|\.)google\./;
/** `!`; `=` or `*`; HOST; then `/`, `/*` or `/PATH`, which may end in `$` or `/`. */
const EXPRESSION = /^(!?)([=*]?)((?:[a-z0-9_-]+\.)+[a-z0-9_-]+)(?:\/|\/\*|(\/.*?)[$/]?)$/;

/**
 * Reads an expression for clients that know only `HOST/` and `HOST/PATH`.
 * @returns undefined if such a client can neither use the expression nor wrongly block because of it: accounts, mailboxes,
 *   ranges, imitations, what is blocked only at or only below, endpoints of OAuth, and hosts whose pages only the service
 *   reads
 */
export const namedExpression = (half: Half, expression: string): NamedExpression | undefined => {
  const [, not, only, host, path] = EXPRESSION.exec(expression) ?? [];
  // The check looks up no internal host, whatever is listed.
  if (host === undefined || isInternalHost(host, !/\.\d+$/.test(host))) return undefined;
  const isException = half === 'ask' || not === '!';
  const named = { key: path === undefined ? `URL:${host}` : `PAGE:${host}${path}`, host, isException };
  if (isException) return named;
  // Of hosts whose pages only the service reads, the clients would look up the pages.
  if (only !== '' || isReadByService(host) || IS_GOOGLE.test(host)) return undefined;
  // The check does not block the requests to a blocked endpoint, and the clients leave out the parameters of a request.
  return path !== undefined && isRequestEndpoint(path) ? undefined : named;
};
