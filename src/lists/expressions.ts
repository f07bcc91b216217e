import { hash } from 'node:crypto';

/**
 * The expressions of local lists. A client looks up those of a content in an order that `docs/guides/local-lists.md` gives,
 * and the first that a list has decides. `!` before an expression says that the content is not blocked although something
 * above is. HOST is in lower case.
 *
 * | expression | in `all-8b`, `own-8b` | in `ask-8b` |
 * |---|---|---|
 * | `HOST/` | HOST and everything below | the same |
 * | `=HOST/` | HOST alone | the same |
 * | `@HOST/` | the mailboxes of exactly HOST | |
 * | `HOST/*` | | the pages of HOST and of the hosts below |
 * | `HOST/PATH` | a page and everything below, also on hosts below | |
 * | `=HOST/PATH$` `=HOST/PATH/` `*HOST/PATH$` `*HOST/PATH/` | a page, or what is below it, on HOST or on a host below | |
 * | `vBITS/ADDRESS` | the range of IPv4 addresses that begins at ADDRESS | the same |
 * | `TYPE:KEY` | an account, a profile, a mailbox or a CID | |
 * | `~NAME` | hosts that imitate another: NAME is the host without its last label and its first `www.` | |
 *
 * `list`: `all-8b` or `own-8b`; `ask`: `ask-8b`.
 */
export type Half = 'list' | 'ask';

const MAX_SEGMENTS = 16;
/** The shortest first label that may be a CID. */
const MIN_CID_LENGTH = 46;

/** Returns the SHA-256 of an expression. Lists have its first 8 bytes. */
export const digestOf = (expression: string): Buffer => hash('sha256', expression, 'buffer');

/** Whether a client can look up a path: one of plain characters that no gateway serves. */
export const isPlainPath = (path: string): boolean =>
  /^(?:\/[A-Za-z0-9._~-]+)+$/.test(path) &&
  !/\.(?:\/|$)/.test(path) &&
  !/^\/ip[fn]s\//i.test(path) &&
  path.split('/').length <= MAX_SEGMENTS;

/** Whether a host may name the content that it serves: with a CID, which may be written in many ways. */
export const isOfContent = (host: string): boolean => host.includes('.ipfs.') || host.indexOf('.') >= MIN_CID_LENGTH;

/** Returns a host and the domains above it that have at least two labels, longest first. */
export const withParents = (host: string): string[] => {
  const hosts = [host];
  for (let at = host.indexOf('.') + 1; host.indexOf('.', at) !== -1; at = host.indexOf('.', at) + 1)
    hosts.push(host.slice(at));
  return hosts;
};

/** Returns the name by which a host may imitate another. */
export const formOf = (host: string): string => host.slice(0, host.lastIndexOf('.')).replace('www.', '');

/** Returns the expression of the range of IPv4 addresses around an address. */
export const rangeExpression = (address: string, bits: number): string => {
  const value = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const first = Math.floor(value / 2 ** (32 - bits)) * 2 ** (32 - bits);
  return `v${bits}/${[24, 16, 8, 0].map((shift) => (first >>> shift) & 255).join('.')}`;
};
