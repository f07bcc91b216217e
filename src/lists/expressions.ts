import { createHash } from 'node:crypto';

/**
 * The expressions of local lists. A client computes those of a content, in this order, and the first that a list has
 * decides. Without a hit the content is not listed. HOST is in lower case; `!` before an expression of `all-8b` and
 * `own-8b` says that the content is not blocked although something above is.
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
 */
export const hashOfExpression = (expression: string): Buffer =>
  createHash('sha256').update(expression).digest().subarray(0, HASH_BYTES);

export const HASH_BYTES = 8;

export type Result = 'ASK' | 'LISTED' | 'NOT_LISTED';
/** `list`: `all-8b` or `own-8b`; `ask`: `ask-8b`. */
export type Half = 'list' | 'ask';

interface Step {
  readonly half: Half;
  readonly expression: string;
  readonly result: Result;
  /** The result is ASK if the list also has this expression. */
  readonly askIf?: string | undefined;
}

/** Maximum number of hosts under which a page is looked up: its own host, and 4 above. */
const MAX_PAGE_HOSTS = 5;
const MAX_SEGMENTS = 16;
const MAX_NAME_LENGTH = 253;
/** The shortest first label that may be a CID. */
const MIN_CID_LENGTH = 46;

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,62})';
const NAME = String.raw`(?:${LABEL}\.)+[a-z][a-z0-9-]{0,62}`;
const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`;
const IS_ADDRESS = new RegExp(String.raw`^${BYTE}(?:\.${BYTE}){3}$`);
/** A link without anything that may carry another link: no colon, no escape, no slash in its parameters. */
const LINK = new RegExp(
  String.raw`^(?:https?://)?(${NAME}|${BYTE}(?:\.${BYTE}){3})((?:/[a-z0-9._~-]+)*)(/?)((?:\?[a-z0-9._~=&-]*)?(?:#[a-z0-9_~=&-]*)?)$`,
  'i',
);
const MAILBOX = new RegExp(String.raw`^([a-z0-9_-]{1,64})@(${NAME})$`);
/** Accounts that are read as they are written: of Bitcoin and Litecoin, Tron and Solana. */
const PLAIN_ACCOUNT =
  /^(?:(?:bc|ltc)1[02-9ac-hj-np-z]{11,90}|[13][1-9A-HJ-NP-Za-km-z]{25,33}|T[1-9A-HJ-NP-Za-km-z]{33}|[1-9A-HJ-NP-Za-km-z]{43,44})$/;
const EVM = /^0x[0-9a-f]{40}$/i;
const CID = /^baf[a-z2-7]{56}$/;
/** Names on the machine or a private network, of which a mailbox is checked and a host is not. */
const IS_PRIVATE = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)$/;
/** Gmail ignores dots and what follows a plus sign. */
const HAS_ALIASES = /^(?:gmail|googlemail)\.com$/;
/** Google has hosts that carry links in every country. */
const IS_GOOGLE = /(?:^|\.)google\./;
/** A parameter whose value holds others in base64. */
const HOLDS_OTHERS = /sso=/i;

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

const listed = (expression: string): Step => ({ half: 'list', expression, result: 'LISTED' });
const notListed = (expression: string, askIf?: string): Step => ({
  half: 'list',
  expression: `!${expression}`,
  result: 'NOT_LISTED',
  askIf,
});
const ask = (expression: string): Step => ({ half: 'ask', expression, result: 'ASK' });
const either = (expression: string): Step[] => [listed(expression), notListed(expression)];

const stepsOfHost = (host: string, form: string | undefined): Step[] => {
  const [, ...above] = withParents(host);
  const own = [...either(`=${host}/`), ask(`=${host}/`), ...either(`${host}/`), ask(`${host}/`)];
  const inherited = above.flatMap((one) => [listed(`${one}/`), notListed(`${one}/`, form), ask(`${one}/`)]);
  return [...own, ...inherited, ...(form === undefined ? [] : [listed(form)])];
};

const stepsOfAddress = (address: string): Step[] => [
  ...either(`=${address}/`),
  ...either(`${address}/`),
  ...Array.from({ length: 25 }, (_, index) => rangeExpression(address, 32 - index)).flatMap((range) => [
    ...either(range),
    ask(range),
  ]),
];

/** Returns the expression of the range of IPv4 addresses around an address. */
export const rangeExpression = (address: string, bits: number): string => {
  const value = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
  const first = Math.floor(value / 2 ** (32 - bits)) * 2 ** (32 - bits);
  return `v${bits}/${[24, 16, 8, 0].map((shift) => (first >>> shift) & 255).join('.')}`;
};

const stepsOfPage = (hosts: readonly string[], path: string, isNamedByMore: boolean): Step[] => {
  const steps: Step[] = [];
  for (const [level, host] of hosts.slice(0, MAX_PAGE_HOSTS).entries())
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const page = host + path.slice(0, end);
      steps.push(...either(`${level === 0 ? '=' : '*'}${page}${end === path.length ? '$' : '/'}`), ...either(page));
    }
  return isNamedByMore ? steps.map((step) => ({ ...step, result: 'ASK' })) : steps;
};

/** Returns what decides about a content, in order; undefined if only the service can read it. */
const stepsOf = (content: string): readonly Step[] | undefined => {
  if (EVM.test(content)) return [listed(`ADDRESS:${content.toLowerCase()}`)];
  if (CID.test(content)) return [listed(`IPFS:${content}`)];
  if (PLAIN_ACCOUNT.test(content)) return [listed(`ADDRESS:${content}`)];
  const [, user, server = ''] = MAILBOX.exec(content) ?? [];
  if (user !== undefined)
    return IS_PRIVATE.test(server) || HAS_ALIASES.test(server) || server.length > MAX_NAME_LENGTH
      ? undefined
      : [...either(`EMAIL:${content}`), ...either(`@${server}/`), ...stepsOfHost(server, undefined)];
  const [, sent = '', path = '', slash, more = ''] = LINK.exec(content) ?? [];
  const host = sent.toLowerCase();
  const isAddress = IS_ADDRESS.test(host);
  if (host === '' || host.length > MAX_NAME_LENGTH || HOLDS_OTHERS.test(more)) return undefined;
  if (more !== '' && path + slash === '') return undefined;
  if (!isAddress && isOfContent(host)) return undefined;
  if (IS_PRIVATE.test(host)) return [];
  const onHost = isAddress ? stepsOfAddress(host) : stepsOfHost(host, `~${formOf(host)}`);
  if (path + more === '') return onHost;
  if (IS_GOOGLE.test(host) || (path !== '' && !isPlainPath(path))) return undefined;
  const hosts = isAddress ? [host] : withParents(host);
  return [...hosts.map((one) => ask(`${one}/*`)), ...stepsOfPage(hosts, path, more !== ''), ...onHost];
};

/**
 * Says what the lists say about a content.
 * @param has whether one of the two lists has the hash of an expression
 */
export const lookUp = (content: string, has: (half: Half, expression: string) => boolean): Result => {
  const steps = stepsOf(content);
  if (steps === undefined) return 'ASK';
  const hit = steps.find(({ half, expression }) => has(half, expression));
  if (hit === undefined) return 'NOT_LISTED';
  return hit.askIf !== undefined && has('list', hit.askIf) ? 'ASK' : hit.result;
};
