import { ConfigError } from '../runtime/config.js';

const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?#]*)(?:\?([^#]*))?/;
/** `target_session_attrs` by setting; without it, the service asks for the same. */
const WANTED = {
  DATABASE_URL: ['read-write', 'primary', 'any'],
  DATABASE_DIRECT_URL: ['read-write', 'primary', 'any'],
  DATABASE_READ_URL: ['any', 'standby', 'prefer-standby', 'read-only'],
} as const;

/**
 * The servers of a connection string as libpq reads it: `pg` knows one host, and no `target_session_attrs`.
 * @returns an address for each, in their order
 * @throws ConfigError naming the setting; the value may hold a password and is not repeated
 */
export const serverUrls = (url: string, setting: keyof typeof WANTED = 'DATABASE_URL'): readonly string[] => {
  const allowed: readonly string[] = WANTED[setting];
  const [, before, hosts, path, query = ''] = PARTS.exec(url) ?? [];
  if (before === undefined || hosts === undefined) throw new ConfigError(`${setting} cannot be read as an address`);
  const rest = query.split('&').filter((each) => each !== '' && !each.startsWith('target_session_attrs='));
  const wanted = /(?:^|&)target_session_attrs=([^&]*)/.exec(query)?.[1] ?? allowed[0]!;
  if (!allowed.includes(wanted))
    throw new ConfigError(`${setting} has target_session_attrs=${wanted}; it may be ${allowed.join(', ')}`);
  const each = hosts.split(',');
  if (each.length > 1 && each.includes('')) throw new ConfigError(`${setting} has a host without a name`);
  const end = path! + (rest.length > 0 ? `?${rest.join('&')}` : '');
  return each.map((host) => before + host + end);
};

/** A server as people are told of it: without user and password. */
export const shownServer = (url: string): string => PARTS.exec(url)?.[2] || 'the server';

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Where a server of several listens. */
export const placeOf = (url: string): Place => {
  const { hostname, port } = new URL(url);
  return { host: decodeURIComponent(hostname.replace(/^\[(.*)\]$/, '$1')), port: Number(port || 5432) };
};
