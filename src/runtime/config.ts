import { join, resolve } from 'node:path';
import { BlockList, isIP } from 'node:net';
import { parse as parseDatabaseUrl } from 'pg-connection-string';

/** Everything that the service keeps in `DATA_DIR`: the names of folders and files. */
export const OWN_NAMES = ['postgres', 'lists', 'demo', 'webhook-master-key'] as const;

/** Returns the path of a folder or file of the service in `DATA_DIR`. */
export const inDataDir = (dataDir: string, name: (typeof OWN_NAMES)[number]): string => join(dataDir, name);

/**
 * Parses a URL. `URL.canParse` of Node 20 rejects some valid URLs once it has been called a few thousand times, because
 * V8's fast call reads Latin-1 text (`https://bücher.example`) as UTF-8.
 * @returns undefined if the text is not a URL
 */
export const readUrl = (text: string): URL | undefined => {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
};

/** The exit code of a process that an invalid setting has stopped (`EX_CONFIG` of sysexits.h). A restart does not help. */
export const EXIT_CONFIG = 78;

/** A setting that cannot be used. The message names the variable, its value and the valid values. */
export class ConfigError extends Error {}

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
const LOG_FORMATS = ['pretty', 'json'] as const;
const SWITCH = ['on', 'off'] as const;

const SYSTEM_AUTHORITIES = /(?<=[?&])sslrootcert=system(?:&|$)/;
/** Modes in which the certificate of a database is not verified. */
const UNVERIFIED = /^(?:disable|allow|no-verify)$/;
/**
 * Returns an address of a database in a form that `pg` reads. `sslrootcert=system` means the authorities that Node
 * trusts, and `pg` would read it as the name of a file. As in libpq, the certificate is then verified.
 * @throws ConfigError if it may not be verified
 */
const withSystemAuthorities = (name: string, address: string): string => {
  if (!SYSTEM_AUTHORITIES.test(address)) return address;
  const url = new URL(address);
  const mode = url.searchParams.get('sslmode') ?? '';
  if (UNVERIFIED.test(mode))
    throw new ConfigError(`${name} has sslrootcert=system; set sslmode=verify-full, not ${mode}`);
  url.searchParams.delete('sslrootcert');
  url.searchParams.set('sslmode', 'verify-full');
  return url.href;
};

const PROTOBUF = 'http/protobuf';
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`]);

const MAX_LIMIT = 999_999_999;
const MAX_PER_DAY = 999_999_999_999_999;
const HTTP = ['http', 'https'];
const POSTGRES = ['postgres', 'postgresql'];
const EVENT_STORE = ['esdb', 'kurrentdb', 'kurrent', 'kdb'].flatMap((scheme) => [scheme, `${scheme}+discover`]);

const ENCODE = 'percent-encode the characters of the user name and the password that are not letters or digits';

const SEE = 'docs/operations/high-availability.md';
const FOLLOWS_PRIMARY =
  'give one address that follows the primary: a service of the orchestrator, a TCP proxy such as HAProxy, or a name in ' +
  `DNS (${SEE})`;
const OF_REPLICAS = `give one address that leads to the replicas (${SEE})`;

/** Settings of earlier versions, with their present names. */
const RENAMED: Readonly<Record<string, string>> = {
  MIGRATE: 'MIGRATE_ON_START (true or false)',
  READ_MAX_LAG: 'READ_MAX_LAG_SECONDS',
  TP_KEY: 'THREAT_PROTECTION_API_KEY',
  UNAUTHENTICATED_PER_MINUTE: 'UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE',
  WEBHOOK_ALLOW: 'WEBHOOK_ALLOWED_NETWORKS',
};

/**
 * Returns a function that tells whether a text is an IP address in one of these addresses and networks (`10.0.0.0/8`).
 * @param networks valid entries, such as those of `TRUST_PROXY`
 */
export const inNetworks = (networks: readonly string[]): ((address: string) => boolean) => {
  const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
};

/** @throws ConfigError naming the variable */
const settingsOf = (env: NodeJS.ProcessEnv) => {
  const names = new Set<string>();
  const read = (name: string): string | undefined => {
    names.add(name);
    return env[name]?.trim() || undefined;
  };
  const number = (name: string, otherwise: string, max: number): number => {
    const value = read(name) ?? otherwise;
    if (!/^\d{1,15}$/.test(value) || Number(value) > max)
      throw new ConfigError(`${name} is "${value}"; it must be a whole number from 0 to ${max}`);
    return Number(value);
  };
  const choice = <T extends string>(name: string, otherwise: T, allowed: readonly T[]): T => {
    const value = read(name) ?? otherwise;
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw new ConfigError(`${name} is "${value}"; it must be ${allowed.join(' or ')}`);
    return found;
  };
  const address = (name: string, schemes: readonly string[]): string | undefined => {
    const value = read(name);
    // The message never repeats the value, because it may contain a password.
    if (value !== undefined && !schemes.includes(/^([a-z+]+):\/\/./.exec(value)?.[1] ?? ''))
      throw new ConfigError(`${name} must begin with ${schemes.map((allowed) => `${allowed}://`).join(' or ')}`);
    if (value !== undefined && schemes === HTTP && readUrl(value) === undefined)
      throw new ConfigError(`${name} is not a valid URL; ${ENCODE}`);
    return value;
  };
  /**
   * Rejects a URL that `pg` cannot parse or whose certificate files cannot be read. Also rejects several hosts, because
   * `pg` connects to one host only. The platform decides which server the host leads to.
   */
  const database = (name: string, advice: string): string | undefined => {
    const value = address(name, POSTGRES);
    const [, hosts = '', named = ''] =
      /^[^/]*\/\/(?:[^/?#]*@)?([^/?#]*)[^?]*(?:.*[?&]host=([^&#]*))?/.exec(value ?? '') ?? [];
    if (/,|%2c/i.test(hosts + named)) throw new ConfigError(`${name} names several hosts; ${advice}`);
    // A `#` that is not encoded ends the URL, so that the rest of a password would be missing.
    if (value?.includes('#')) throw new ConfigError(`${name} contains "#"; ${ENCODE}`);
    try {
      if (value !== undefined) parseDatabaseUrl(withSystemAuthorities(name, value));
    } catch (error) {
      const { path, code, message } = error as NodeJS.ErrnoException;
      if (error instanceof ConfigError) throw error;
      if (path !== undefined)
        throw new ConfigError(`${name} names the file ${path}, which cannot be read (${code}); correct its path`);
      throw new ConfigError(`${name} cannot be parsed: ${message}; ${ENCODE}`);
    }
    return value && withSystemAuthorities(name, value);
  };
  const networks = (name: string): readonly string[] => {
    const found = (read(name) ?? '').split(/\s*,\s*/).filter((each) => each !== '');
    for (const each of found) {
      const [, ip = '', prefix = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(each) ?? [];
      const version = isIP(ip);
      if (version === 0 || Number(prefix) > (version === 4 ? 32 : 128))
        throw new ConfigError(`${name} contains "${each}"; each entry must be an IP address or a network (10.0.0.0/8)`);
    }
    return found;
  };
  const share = (name: string, otherwise: string): number => {
    const value = read(name) ?? otherwise;
    if (!(Number(value) >= 0 && Number(value) <= 1))
      throw new ConfigError(`${name} is "${value}"; it must be a number from 0 to 1`);
    return Number(value);
  };
  for (const [former, name] of Object.entries(RENAMED))
    if (env[former]?.trim()) throw new ConfigError(`${former} is no longer a setting: set ${name} instead`);
  const sourcesFile = read('SOURCES_FILE');
  const listsSigningKeyFile = read('LISTS_SIGNING_KEY_FILE');
  const webhookMasterKeyFile = read('WEBHOOK_MASTER_KEY_FILE');
  const portOf = (name: string): number | undefined =>
    read(name) === undefined ? undefined : number(name, '', 65_535);
  const opsPorts = {
    /**
     * Port of the operators' listener of a process. Absent: the API serves `/metrics` and health details on `PORT`. 0:
     * any free port.
     */
    opsPort: portOf('OPS_PORT'),
    /** Port of the projector's health and metrics. Absent: `OPS_PORT`. */
    projectorOpsPort: portOf('PROJECTOR_OPS_PORT'),
    /** Port of the delivery process's health and metrics. Absent: `OPS_PORT`. */
    deliveriesOpsPort: portOf('DELIVERIES_OPS_PORT'),
  };
  const collector = [
    /** Base address of the OpenTelemetry collector. Absent: nothing is traced. */
    address('OTEL_EXPORTER_OTLP_ENDPOINT', HTTP),
    /** Full address to which traces are sent. Overrides `OTEL_EXPORTER_OTLP_ENDPOINT`. */
    address('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', HTTP),
  ];
  const isTraced =
    collector.some((each) => each !== undefined) &&
    /** `true` disables traces even if a collector is configured. */
    read('OTEL_SDK_DISABLED')?.toLowerCase() !== 'true';
  /** Protocol of the collector. */
  if (isTraced) choice('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOBUF, [PROTOBUF]);
  /** Protocol of the collector for traces. Overrides `OTEL_EXPORTER_OTLP_PROTOCOL`. */
  if (isTraced) choice('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', PROTOBUF, [PROTOBUF]);
  if (read('OPS_HOST') !== undefined && Object.values(opsPorts).every((port) => port === undefined))
    throw new ConfigError('OPS_HOST is set, but OPS_PORT is not; set OPS_PORT to the port for operators');
  const databaseUrl = database('DATABASE_URL', FOLLOWS_PRIMARY);
  const databaseDirectUrl = database('DATABASE_DIRECT_URL', FOLLOWS_PRIMARY);
  if (databaseDirectUrl !== undefined && databaseUrl === undefined)
    throw new ConfigError('DATABASE_DIRECT_URL is set, but DATABASE_URL is not; set both to the same database');
  const databaseReadUrl = database('DATABASE_READ_URL', OF_REPLICAS);
  if (databaseReadUrl !== undefined && databaseUrl === undefined)
    throw new ConfigError('DATABASE_READ_URL is set, but DATABASE_URL is not; set it to the primary of the replicas');
  return {
    /** Address that the API listens on. */
    host: read('HOST') ?? '127.0.0.1',
    /** Port that the API listens on. 0: any free port. */
    port: number('PORT', '3000', 65_535),
    /** Address of the operators' listeners. */
    opsHost: read('OPS_HOST') ?? '127.0.0.1',
    ...opsPorts,
    /** Address of PostgreSQL 15 or later; the address must follow the primary. Absent: `start` and `demo` use an embedded PostgreSQL in `DATA_DIR`, and the other processes do not start. */
    databaseUrl,
    /**
     * The database of `DATABASE_URL` without its pooler, for exports, rebuilds and locks, which need one connection
     * throughout.
     */
    databaseDirectUrl,
    /** A single address that leads to all the replicas that answer reads. Absent: the primary answers all reads. */
    databaseReadUrl,
    /** How far a replica may be behind the primary to answer reads, in seconds. */
    readMaxLagSeconds: number('READ_MAX_LAG_SECONDS', '10', 86_400),
    /**
     * Whether this process migrates the tables to its version. If not, the process waits until the command `migrate`
     * has migrated the tables.
     */
    migrates: choice('MIGRATE_ON_START', 'true', ['true', 'false']) === 'true',
    /**
     * Folder of the embedded PostgreSQL and of the copies of lists. A relative path is resolved against the working
     * directory of the process.
     */
    dataDir: resolve(read('DATA_DIR') ?? '.data'),
    /**
     * EventStoreDB that holds the event log. Absent: the log is in PostgreSQL. `kurrentdb://`, `kurrent://`, `kdb://`
     * and `esdb://` are equivalent.
     */
    eventStoreUrl: address('EVENTSTORE_URL', EVENT_STORE)?.replace(/^k[a-z]+/, 'esdb'),
    /**
     * File that configures the sources of the asset check. Absent: the file that ships with the service. A relative
     * path is resolved against the working directory of the process.
     */
    sourcesFile: sourcesFile && resolve(sourcesFile),
    /** Least severe level that is logged. */
    logLevel: choice('LOG_LEVEL', 'info', LOG_LEVELS),
    /** Format of the log. Absent: `pretty` on a terminal, otherwise `json`. */
    logFormat: choice('LOG_FORMAT', process.stdout.isTTY ? 'pretty' : 'json', LOG_FORMATS),
    /** Whether the API writes one line of JSON per request to standard output. */
    accessLog: choice('ACCESS_LOG', 'on', SWITCH) === 'on',
    /** Which requests are traced, by OpenTelemetry's own settings. Absent: nothing is traced, as no collector is set. */
    sampling: isTraced
      ? {
          /** Which traces are recorded. */
          sampler: choice('OTEL_TRACES_SAMPLER', 'parentbased_always_on', SAMPLERS),
          /** The share of all traces that the `traceidratio` samplers record, from 0 to 1. */
          share: share('OTEL_TRACES_SAMPLER_ARG', '1'),
        }
      : undefined,
    /** Requests per key and minute, at local lists per key, address and minute; 0 means no limit. */
    rateLimitPerMinute: number('RATE_LIMIT_PER_MINUTE', '6000', MAX_LIMIT),
    /**
     * Events per organization and UTC day, from its own ingest keys and from changes of groups, members, webhooks and
     * disputes; 0 means no limit.
     */
    ingestEventsPerDay: number('INGEST_EVENTS_PER_DAY', '10000000', MAX_PER_DAY),
    /**
     * Bytes per organization and UTC day: request bodies of its own ingest keys, and stored events of changes of
     * groups, members, webhooks and disputes; 0 means no limit.
     */
    ingestBytesPerDay: number('INGEST_BYTES_PER_DAY', '21474836480', MAX_PER_DAY),
    /** Requests without a valid key per client address and minute; 0 means no limit. */
    unauthenticatedPerMinute: number('UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE', '600', MAX_LIMIT),
    /** Open connections per client address; 0 means no limit. Not applied if `TRUST_PROXY` is set. */
    maxConnectionsPerAddress: number('MAX_CONNECTIONS_PER_ADDRESS', '256', MAX_LIMIT),
    /** Addresses or networks of proxies whose `X-Forwarded-For` is trusted, separated by commas. */
    trustProxy: networks('TRUST_PROXY'),
    /**
     * File with the master key of webhook secrets. Absent: a file in `DATA_DIR` with the embedded PostgreSQL; otherwise
     * webhooks are off.
     */
    webhookMasterKeyFile: webhookMasterKeyFile && resolve(webhookMasterKeyFile),
    /** Whether local lists are built, and served to keys with the scope `lists` (`on`) or to everybody (`public`). */
    lists: choice('LISTS', 'off', ['off', 'on', 'public']),
    /** File with the private key that signs local lists, made by `lists key`. Absent: the lists are not signed. */
    listsSigningKeyFile: listsSigningKeyFile && resolve(listsSigningKeyFile),
    /** Private addresses or networks that webhooks may reach, also by `http`, separated by commas. */
    webhookAllow: networks('WEBHOOK_ALLOWED_NETWORKS'),
    /** Forward proxy for all webhook deliveries. The proxy decides which addresses may be reached. */
    webhookProxy: address('WEBHOOK_PROXY', HTTP),
    /** API key that `events send` uses. Absent: the command issues a key for the call. */
    apiKey: read('THREAT_PROTECTION_API_KEY'),
    /** Reads a variable that the sources file names; undefined if it is absent or empty. */
    variable: read,
    /** The environment that the settings were read from, passed on to child processes. */
    env,
    /** The names of the variables read so far. Reading the sources file adds the variables that it names. */
    names,
  };
};

/** All settings, read and checked once. `Config` is a class, so that Nest can use the class as the injection token. */
// oxlint-disable-next-line no-unsafe-declaration-merging -- the class is never instantiated
export interface Config extends Readonly<ReturnType<typeof settingsOf>> {}
export abstract class Config {}

/**
 * Reads the settings from an environment; an empty variable counts as absent.
 * @throws ConfigError naming the variable
 */
export const readConfig = (environment = process.env): Config => Object.freeze(settingsOf({ ...environment }));

/**
 * Returns the address of the database for a process of a deployment, which never creates a database of its own: a
 * forgotten or misspelt setting would give each process another, empty database.
 * @throws ConfigError if DATABASE_URL is not set
 */
export const requireDatabaseUrl = ({ databaseUrl }: Pick<Config, 'databaseUrl'>): string => {
  if (databaseUrl !== undefined) return databaseUrl;
  throw new ConfigError(
    'DATABASE_URL is not set: set it to the address of PostgreSQL 15 or later (postgres://USER:PASSWORD@HOST/DATABASE). ' +
      'Only `start` and `demo` create a database of their own',
  );
};

/** Sets variables of this process, which every later `readConfig` and the child processes then see. */
export const overrideSettings = (settings: Readonly<Record<string, string>>): void => {
  Object.assign(process.env, settings);
};

/** Reads LOG_FORMAT before the settings have been validated; an invalid value counts as the default. */
export const logFormatOf = ({ LOG_FORMAT } = process.env): Config['logFormat'] =>
  LOG_FORMAT === 'json' || (LOG_FORMAT !== 'pretty' && !process.stdout.isTTY) ? 'json' : 'pretty';

/** The variables that configure connections of libpq and `pg`. */
const LIBPQ = /^PG[A-Z]+$/i;

/** Removes the variables of libpq from this process, because they would change its connections to the embedded PostgreSQL. */
export const ignoreLibpqVariables = (): void => {
  for (const name of Object.keys(process.env)) if (LIBPQ.test(name)) delete process.env[name];
};

/** Variables that a child process may need besides the settings: paths, locale, time zone, and those of Node.js. */
const SYSTEM =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|LANG|LC_\w+|TMPDIR|TEMP|TMP|PG\w+|NODE_\w+|OTEL_\w+|SSL_CERT_(?:FILE|DIR)|(?:HTTPS?|NO)_PROXY|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE)$/i;

/**
 * Variables of other programs that a settings file may contain besides those of Node.js, libpq and the system: of Docker
 * Compose, the image of PostgreSQL, the dynamic linker and the C library.
 */
const FOREIGN =
  /^(?:COMPOSE_\w+|DOCKER_\w+|POSTGRES_\w+|KUBERNETES_\w+|LANGUAGE|ALL_PROXY|LD_\w+|MALLOC_\w+|GLIBC_TUNABLES|UV_\w+|NO_COLOR|FORCE_COLOR|UMASK)$/;

/** Whether a variable may have a meaning for another program, or had one for an earlier version of this service. */
export const isForeign = (name: string): boolean =>
  SYSTEM.test(name) || FOREIGN.test(name) || name !== name.toUpperCase() || Object.hasOwn(RENAMED, name);

/** Reads SOURCES_FILE before the settings have been validated. */
export const sourcesFileOf = ({ SOURCES_FILE } = process.env): Config['sourcesFile'] =>
  readConfig({ SOURCES_FILE }).sourcesFile;

/** The names of all settings, except those of OpenTelemetry. */
export const settingNames = (): ReadonlySet<string> => new Set(readConfig({}).names);

/**
 * The environment for a child process: the settings and system variables that it needs, not the operator's whole
 * environment. The variables of libpq are not passed on if the database is embedded. The second argument has the values
 * of settings that were determined only after the start.
 */
export const environmentOf = (
  { env, names }: Config,
  { port, databaseUrl, webhookMasterKeyFile }: Partial<Pick<Config, 'port' | 'databaseUrl' | 'webhookMasterKeyFile'>>,
): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => names.has(name) || (SYSTEM.test(name) && (env['DATABASE_URL']?.trim() || !LIBPQ.test(name))),
    ),
  ),
  ...(port !== undefined && { PORT: String(port) }),
  ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
  ...(webhookMasterKeyFile !== undefined && { WEBHOOK_MASTER_KEY_FILE: webhookMasterKeyFile }),
});
