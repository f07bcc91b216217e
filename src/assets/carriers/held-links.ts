import { isInternalHost } from '../ip-address.js';
import { locateWeb } from '../link.js';
import { type Location, trimLikeUrlParser } from '../location.js';
import { decodeOnce } from '../copied-text.js';
import { isEqual } from '../profiles/site.js';
import { LOGIN_MODE, LOGIN_PAGE, RETURN_PARAMETER } from './carrier-table.js';
import { decodeParameter, type Parameter, parametersIn, partsOf } from './link-parts.js';

const NO_LINKS: readonly string[] = [];

/** Adds the parameters that the parameter `sso` of a provider of Discourse carries in base64. */
const withEncoded = (one: Parameter): readonly Parameter[] =>
  isEqual(one.name, 'sso')
    ? [one, ...parametersIn(Buffer.from(decodeParameter(one.sent), 'base64').toString())]
    : [one];

/** The longest part of a link, after its host, that is compared with `LOGIN_PAGE` and `LOGIN_MODE`. */
const MAX_LOGIN_PAGE_LENGTH = 512;

const isLogin = ({ host, rest }: Location, path: string): boolean => {
  const start = rest.slice(0, MAX_LOGIN_PAGE_LENGTH);
  return LOGIN_PAGE.test(host + start.slice(0, path.length)) || LOGIN_MODE.test(start);
};
const namesReturn = ({ name }: Parameter): boolean => RETURN_PARAMETER.test(name.replace(/[_.-]/g, '').toLowerCase());

/**
 * Returns the links to other hosts that a page of a log-in opens afterwards (`redirect_uri`, `continue`). Paths, hosts
 * without a scheme, apps and hosts of the machine itself are no such links.
 */
export const returnLinks = (location: Location): readonly string[] => {
  const { host, rest } = location;
  if (!rest.includes('?')) return NO_LINKS;
  const { path, query } = partsOf(rest);
  if (!isLogin(location, path)) return NO_LINKS;
  const links = new Set<string>();
  for (const { sent } of query().flatMap(withEncoded).filter(namesReturn)) {
    const value = decodeParameter(sent);
    const text = trimLikeUrlParser(/^https?%/i.test(value) ? decodeOnce(value) : value);
    const link = /^[\\/]{2}/.test(text) ? `https:${text}` : text;
    const target = locateWeb(link);
    if (target !== undefined && target.host !== host && !isInternalHost(target.host, target.isName)) links.add(link);
  }
  return [...links];
};

/** Returns a pattern for a text, each of whose characters may be percent-encoded several times. */
const escapable = (text: string): string =>
  text.replace(/./g, (sign) => {
    const codes = [sign, sign.toUpperCase()].map((one) => one.charCodeAt(0).toString(16));
    return `(?:${sign}|%(?:25){0,3}(?:${codes.join('|')}))`;
  });
/**
 * Matches an absolute web link, a value that begins with two slashes, and a value that pairs a wallet (`wc:`), all of
 * them percent-encoded or not.
 */
export const HELD_LINK = new RegExp(
  `${escapable('http')}${escapable('s')}?${escapable(':')}|=(?:[\\\\/]|%(?:25){0,3}(?:2f|5c)){2}|(?:^|[^\\w]|%[\\da-f]{2})${escapable('wc:')}`,
  'i',
);

/**
 * Whether a web address that carries no link by the tables of carriers and log-ins holds one, in whatever place. The
 * host may open that link, show it, or only count it.
 */
export const holdsUnreadLink = (location: Location): boolean => {
  const { rest } = location;
  if (!HELD_LINK.test(rest)) return false;
  const { path, end, query } = partsOf(rest);
  const fragment = end.includes('#') ? end.slice(end.indexOf('#')) : '';
  const unread = (one: Parameter): boolean => HELD_LINK.test(`=${one.sent}`) && !namesReturn(one);
  return !isLogin(location, path) || HELD_LINK.test(path) || HELD_LINK.test(fragment) || query().some(unread);
};
