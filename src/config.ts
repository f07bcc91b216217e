import { isIP } from 'node:net';
import { resolve } from 'node:path';

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Everything the environment decides, read and checked once. A class so that it is its own injection token. */
export abstract class Config {
  abstract readonly host: string;
  /** 0 takes a free port. */
  abstract readonly port: number;
  /** Where operators have a listener of their own. */
  abstract readonly opsHost: string;
  /** Absent: what is for operators is given on `port` too. 0 takes a free port. */
  abstract readonly opsPort: number | undefined;
  /** Absent: an embedded PostgreSQL in `dataDir`. */
  abstract readonly databaseUrl: string | undefined;
  /** Absolute. */
  abstract readonly dataDir: string;
  /** Absent: the log is in PostgreSQL. Always with the scheme `esdb`. */
  abstract readonly eventStoreUrl: string | undefined;
  /** Absolute. Absent: the sources file that ships with the service. */
  abstract readonly sourcesFile: string | undefined;
  abstract readonly logLevel: LogLevel;
  abstract readonly logFormat: 'pretty' | 'json';
  /** Whether each request is a line of JSON on standard output. */
  abstract readonly accessLog: boolean;
  /** Requests per key and minute; 0 means no limit. */
  abstract readonly rateLimitPerMinute: number;
  /** Events that one organization's own ingest keys and group members may have stored in a UTC day; 0 means no limit. */
  abstract readonly ingestEventsPerDay: number;
  /** Bytes of bodies that one organization's own ingest keys may send in a UTC day; 0 means no limit. */
  abstract readonly ingestBytesPerDay: number;
  /** Requests without a good key per client address and minute; 0 means no limit. */
  abstract readonly unauthenticatedPerMinute: number;
  /** Connections open at once per client address; 0 means no limit. Not applied behind `trustProxy`. */
  abstract readonly maxConnectionsPerAddress: number;
  /** Addresses or networks of proxies whose `X-Forwarded-For` is believed. */
  abstract readonly trustProxy: readonly string[];
  /** The key that `replay` sends events with. Absent: one that is issued for it. */
  abstract readonly replayKey: string | undefined;
  /** A variable of the environment that the sources file names; undefined where it is absent or empty. */
  abstract readonly variable: (name: string) => string | undefined;
  /** What the settings were read from, for processes that get the same ones. */
  abstract readonly env: NodeJS.ProcessEnv;
}

/** The exit code of a process that a wrong setting has stopped (`EX_CONFIG` of sysexits.h): another start will not help. */
export const EXIT_CONFIG = 78;

/** A setting that cannot be used. The message names the variable, what it holds and what it may hold. */
export class ConfigError extends Error {}

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
const LOG_FORMATS = ['pretty', 'json'] as const;
const SWITCH = ['on', 'off'] as const;

const oneOf = <T extends string>(name: string, value: string, allowed: readonly T[]): T => {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new ConfigError(`${name} is "${value}"; it may be ${allowed.join(', ')}`);
  return found;
};

const MAX_A_DAY = 999_999_999_999_999;

const wholeNumber = (name: string, value: string, max: number): number => {
  if (!/^\d{1,15}$/.test(value) || Number(value) > max)
    throw new ConfigError(`${name} is "${value}"; it must be a whole number from 0 to ${max}`);
  return Number(value);
};

const url = (name: string, value: string, schemes: readonly string[]): string => {
  const scheme = /^([a-z+]+):\/\/./.exec(value)?.[1];
  // The value may hold a password, so it is never repeated.
  if (!scheme || !schemes.includes(scheme))
    throw new ConfigError(`${name} must begin with ${schemes.map((allowed) => `${allowed}://`).join(' or ')}`);
  return value;
};

const network = (address: string): string => {
  const [, ip = '', prefix = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(address) ?? [];
  const version = isIP(ip);
  if (version === 0 || Number(prefix) > (version === 4 ? 32 : 128))
    throw new ConfigError(`TRUST_PROXY holds "${address}"; it may hold addresses and networks (10.0.0.0/8)`);
  return address;
};

/**
 * Reads the settings from an environment; an empty variable counts as absent.
 * @throws ConfigError naming the variable
 */
export const readConfig = (environment: NodeJS.ProcessEnv = process.env): Config => {
  const env = { ...environment };
  const read = (name: string): string | undefined => env[name]?.trim() || undefined;
  const opsPort = read('OPS_PORT');
  if (opsPort === undefined && read('OPS_HOST') !== undefined)
    throw new ConfigError('OPS_HOST is set, but OPS_PORT is not; a second listener needs a port');
  const databaseUrl = read('DATABASE_URL');
  const eventStoreUrl = read('EVENTSTORE_URL');
  const sourcesFile = read('SOURCES_FILE');
  return Object.freeze({
    host: read('HOST') ?? '127.0.0.1',
    port: wholeNumber('PORT', read('PORT') ?? '3000', 65_535),
    opsHost: read('OPS_HOST') ?? '127.0.0.1',
    opsPort: opsPort === undefined ? undefined : wholeNumber('OPS_PORT', opsPort, 65_535),
    databaseUrl: databaseUrl && url('DATABASE_URL', databaseUrl, ['postgres', 'postgresql']),
    dataDir: resolve(read('DATA_DIR') ?? '.data'),
    eventStoreUrl:
      eventStoreUrl &&
      url('EVENTSTORE_URL', eventStoreUrl, ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover']).replace(
        /^kurrentdb/,
        'esdb',
      ),
    sourcesFile: sourcesFile && resolve(sourcesFile),
    logLevel: oneOf('LOG_LEVEL', read('LOG_LEVEL') ?? 'info', LOG_LEVELS),
    logFormat: oneOf('LOG_FORMAT', read('LOG_FORMAT') ?? (process.stdout.isTTY ? 'pretty' : 'json'), LOG_FORMATS),
    accessLog: oneOf('ACCESS_LOG', read('ACCESS_LOG') ?? 'on', SWITCH) === 'on',
    rateLimitPerMinute: wholeNumber('RATE_LIMIT_PER_MINUTE', read('RATE_LIMIT_PER_MINUTE') ?? '6000', 999_999_999),
    ingestEventsPerDay: wholeNumber('INGEST_EVENTS_PER_DAY', read('INGEST_EVENTS_PER_DAY') ?? '10000000', MAX_A_DAY),
    ingestBytesPerDay: wholeNumber('INGEST_BYTES_PER_DAY', read('INGEST_BYTES_PER_DAY') ?? '21474836480', MAX_A_DAY),
    unauthenticatedPerMinute: wholeNumber(
      'UNAUTHENTICATED_PER_MINUTE',
      read('UNAUTHENTICATED_PER_MINUTE') ?? '600',
      999_999_999,
    ),
    maxConnectionsPerAddress: wholeNumber(
      'MAX_CONNECTIONS_PER_ADDRESS',
      read('MAX_CONNECTIONS_PER_ADDRESS') ?? '256',
      999_999_999,
    ),
    trustProxy: (read('TRUST_PROXY') ?? '')
      .split(',')
      .map((address) => address.trim())
      .filter((address) => address !== '')
      .map(network),
    replayKey: read('TP_KEY'),
    variable: read,
    env,
  });
};

/** The environment for a process with these settings, some of them decided since. */
export const environmentOf = (
  { env }: Config,
  { port, opsPort, databaseUrl }: Partial<Pick<Config, 'port' | 'opsPort' | 'databaseUrl'>>,
): NodeJS.ProcessEnv => ({
  ...env,
  ...(port !== undefined && { PORT: String(port) }),
  ...(opsPort !== undefined && { OPS_PORT: String(opsPort) }),
  ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
});
