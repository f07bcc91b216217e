import { isInternalHost } from '../../assets/ip-address.js';
import type { Half } from '../expressions.js';

/** The name of an expression. */
export interface ExpressionName {
  readonly expression: string;
  /** Undefined: the content is blocked. Otherwise the host at or below which something is not. */
  readonly exceptionHost: string | undefined;
  /**
   * The hash of the asset whose own status it may be; empty for an entry of a list.
   */
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

/** `!`; `=` or `*`; HOST; then `/`, `/*` or `/PATH`, which may end in `$` or `/`. */
const EXPRESSION = /^(!?)([=*]?)((?:[a-z0-9_-]+\.)+[a-z0-9_-]+)(?:\/|\/\*|(\/.*?)[$/]?)$/;

/**
 * Reads an expression for clients that know only `HOST/` and `HOST/PATH`.
 * @returns undefined if such a client can neither use the expression nor wrongly block because of it: accounts, mailboxes,
 *   ranges, imitations, and what is blocked only at or only below
 */
export const namedExpression = (half: Half, expression: string): NamedExpression | undefined => {
  const [, not, only, host, path] = EXPRESSION.exec(expression) ?? [];
  // The check looks up no internal host, whatever is listed.
  if (host === undefined || isInternalHost(host, !/\.\d+$/.test(host))) return undefined;
  const isException = half === 'ask' || not === '!';
  if (!isException && only !== '') return undefined;
  return { key: path === undefined ? `URL:${host}` : `PAGE:${host}${path}`, host, isException };
};
