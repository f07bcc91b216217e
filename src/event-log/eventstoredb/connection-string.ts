import { ConfigError } from '../../runtime/config.js';

/** Interval of pings, and timeout of each ping: a silent server is detected after the sum of the two. */
const KEEP_ALIVE_MS = 1_000;
/**
 * The client sends this deadline with each append as a time that the server compares with its own clock. The deadline
 * is so long that the server does not reject every append if the clocks differ by hours. The server gives up after two
 * seconds anyway.
 */
const DEADLINE_MS = 86_400_000;
/** Timeout for asking one node for the leader. The client's default of 5 s is too long if a node is frozen. */
const GOSSIP_SECONDS = 1;
const DEFAULT_PORT = 2113;

/** How an option may be written, and what an error says about anything else; the client's name of the option follows. */
interface Option {
  readonly form: RegExp;
  readonly wrong: string;
  /** The value that this service sets if the option is not written. */
  readonly otherwise?: number | string;
}

const YES_OR_NO = { form: /^(?:true|false)$/, wrong: 'that is neither true nor false' };
const NUMBER = { form: /^[1-9]\d{0,8}$/, wrong: 'that is not a whole number from 1 to 999999999' };
/** -1 turns the pings off. */
const PING = { form: /^(?:-1|[1-9]\d{0,8})$/, wrong: 'that is neither -1 nor a whole number from 1 to 999999999' };
const TEXT = { form: /^[^?@]+$/, wrong: 'with a sign that must be percent-encoded' };

/** The options of the client. */
const OPTIONS: Readonly<Record<string, Option>> = {
  tls: YES_OR_NO,
  tlsVerifyCert: {
    form: /^true$/,
    wrong: '=false, which has no effect; name the certificate authority with tlsCAFile',
  },
  tlsCAFile: TEXT,
  userCertFile: TEXT,
  userKeyFile: TEXT,
  connectionName: TEXT,
  maxDiscoverAttempts: NUMBER,
  discoveryInterval: NUMBER,
  gossipTimeout: { ...NUMBER, otherwise: GOSSIP_SECONDS },
  defaultDeadline: { ...NUMBER, otherwise: DEADLINE_MS },
  keepAliveInterval: { ...PING, otherwise: KEEP_ALIVE_MS },
  keepAliveTimeout: { ...PING, otherwise: KEEP_ALIVE_MS },
  throwOnAppendFailure: { form: /^true$/, wrong: 'that is not true; the service relies on it', otherwise: 'true' },
  nodePreference: {
    form: /^leader$/i,
    wrong: 'that is not leader; the service reads and writes at the leader only',
    otherwise: 'leader',
  },
};
/** The client takes the name of an option in any case, and with `-` and `_`. */
const flat = (name: string): string => name.trim().toLowerCase().replace(/[_-]/g, '');
const NAMES = new Map(Object.keys(OPTIONS).map((name) => [flat(name), name]));

/** An address of an event store. */
export interface StoreAddress {
  /** Whether the hosts are asked for the nodes of the cluster (`+discover`). */
  readonly discovers: boolean;
  readonly user?: { readonly name: string; readonly password: string };
  /** Each with its port. */
  readonly hosts: readonly string[];
  /** Every option of the client that is written or that this service sets, by the client's name. */
  readonly options: ReadonlyMap<string, string>;
}

const FORM = 'esdb://[USER:PASSWORD@]HOST:PORT[,HOST:PORT][?tls=false]';
const ENCODE = 'percent-encode the characters of the user name and the password that are not letters or digits';

/** @throws ConfigError that repeats neither the user and the password nor a part that may contain them */
const refuse = (problem: string): never => {
  throw new ConfigError(`EVENTSTORE_URL ${problem}`);
};
const refuseForm = (problem: string): never => refuse(`cannot be used: ${problem} (${FORM})`);

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuseForm(`the user or the password has a broken percent escape; ${ENCODE}`);
  }
};

const userOf = (text: string): StoreAddress['user'] => {
  const [name = '', password = '', ...rest] = text.split(':');
  if (rest.length > 0 || /[@/]/.test(text))
    return refuseForm(`the user or the password has a ":", "@" or "/"; ${ENCODE}`);
  if (name === '' || password === '') return refuseForm('a user needs a password: write USER:PASSWORD@, or neither');
  return { name: decoded(name), password: decoded(password) };
};

/** @param position of the text in the connection string */
const hostOf = (text: string, position: number): string => {
  const wrong = (part: string, at: number, expected: string): never =>
    refuseForm(`something else at position ${at}, expected ${expected} and not ${JSON.stringify(part.slice(0, 64))}`);
  const [host = '', port = String(DEFAULT_PORT), ...rest] = text.split(':');
  if (!/^[a-z0-9][a-z0-9._-]{0,252}$/i.test(host) || rest.length > 0)
    return wrong(text, position, 'the name or IPv4 address of a host');
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535)
    return wrong(port, position + host.length + 1, 'a port from 1 to 65535');
  return `${host}:${port}`;
};

const optionsOf = (query: string): Map<string, string> => {
  const options = new Map<string, string>();
  for (const pair of query === '' ? [] : query.split('&')) {
    const [written = '', value = '', ...rest] = pair.split('=');
    const name = NAMES.get(flat(written));
    if (name === undefined) return refuse(`has the unknown option ${JSON.stringify(written.slice(0, 64))}`);
    if (value === '' || rest.length > 0) return refuse(`has the option ${name} without one value`);
    if (options.has(name)) return refuse(`has the option ${name} twice`);
    const { form, wrong } = OPTIONS[name]!;
    if (!form.test(value)) return refuse(wrong.startsWith('=') ? `has ${name}${wrong}` : `has a ${name} ${wrong}`);
    options.set(name, form === OPTIONS['nodePreference']!.form ? value.toLowerCase() : value);
  }
  for (const [name, { otherwise }] of Object.entries(OPTIONS))
    if (otherwise !== undefined && !options.has(name)) options.set(name, String(otherwise));
  return options;
};

/**
 * Parses a connection string strictly: what the client would read in another way than it is written, or leave out, is
 * an error.
 * @throws ConfigError that names the part that is wrong
 */
export const parseStoreAddress = (sent: string): StoreAddress => {
  const url = sent.trim();
  const [start = '', discover] = /^(?:esdb|kurrentdb|kurrent|kdb)(\+discover)?:\/\//i.exec(url) ?? [];
  const rest = url.slice(start.length);
  if (start === '' || rest === '') return refuseForm('it has no host');
  if (/[\s#]/.test(rest)) return refuseForm(`it has white space or "#"; ${ENCODE}`);
  const [authority = '', ...queries] = rest.split('?');
  const query = queries.join('?');
  // A password with a sign that is not encoded would otherwise be taken for a host or an option, and be shown.
  if (query.includes('@') || queries.length > 1) return refuseForm(`it has "@" or "?" behind the first "?"; ${ENCODE}`);
  const at = authority.lastIndexOf('@');
  const user = at === -1 ? undefined : userOf(authority.slice(0, at));
  const servers = authority.slice(at + 1).replace(/\/$/, '');
  if (servers === '') return refuseForm('it has no host');
  let position = start.length + at + 1;
  const hosts = servers.split(',').map((text) => {
    const host = hostOf(text, position);
    position += text.length + 1;
    return host;
  });
  if (discover !== undefined && hosts.length > 1)
    return refuseForm('of several hosts, +discover asks the first one only; name one host, or leave +discover out');
  const options = optionsOf(query);
  if (options.has('userCertFile') !== options.has('userKeyFile'))
    return refuse('has one of userCertFile and userKeyFile; both are needed, or neither');
  return { discovers: discover !== undefined, hosts, options, ...(user && { user }) };
};

/** Writes an address as the client reads it. */
const textOf = ({ discovers, user, hosts, options }: StoreAddress): string => {
  const credentials =
    user === undefined ? '' : `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}@`;
  const written = Array.from(options, ([name, value]) => `${name}=${value}`);
  return `esdb${discovers ? '+discover' : ''}://${credentials}${hosts.join(',')}?${written.join('&')}`;
};

/**
 * Suppresses Node's warning about an IP address as a TLS server name. The operator cannot avoid the warning, because
 * gRPC always sends the name. The certificate is still checked against the address.
 */
const withoutAddressWarning = (): void => {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!(rest as unknown[]).includes('DEP0123')) emitWarning(warning, ...rest);
  }) as typeof process.emitWarning;
};
let isWithoutAddressWarning = false;

/**
 * Creates a client from a connection string, with the settings of this service added. The client's own warnings are
 * suppressed, because they are about settings of this service, and some of them contain the password.
 * @throws ConfigError if the connection string is unusable
 */
export const connectBy = <Client>(url: string, connect: (url: string) => Client): Client => {
  const settled = textOf(parseStoreAddress(url));
  const warn = console.warn;
  console.warn = (): void => undefined;
  if (!isWithoutAddressWarning) withoutAddressWarning();
  isWithoutAddressWarning = true;
  try {
    return connect(settled);
  } catch (error) {
    // The client quotes the whole string in some messages.
    const { message } = error as Error;
    return refuseForm(/position \d+/.test(message) ? 'the client cannot read it' : message);
  } finally {
    console.warn = warn;
  }
};
