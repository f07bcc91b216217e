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
const SETTINGS = `keepAliveInterval=${KEEP_ALIVE_MS}&keepAliveTimeout=${KEEP_ALIVE_MS}&throwOnAppendFailure=true&nodePreference=leader`;
const DEFAULTS = { defaultDeadline: DEADLINE_MS, gossipTimeout: GOSSIP_SECONDS };

const hasOption = (url: string, name: string): boolean => new RegExp(`[?&]${name}=`, 'i').test(url);

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
 * suppressed, because some of them contain the password. Warnings about settings become errors.
 * @throws ConfigError if the connection string is unusable
 */
export const connectBy = <Client>(url: string, connect: (url: string) => Client): Client => {
  const warnings: string[] = [];
  const warn = console.warn;
  console.warn = (text: unknown): void => void warnings.push(String(text));
  const defaults = Object.entries(DEFAULTS).flatMap(([name, value]) =>
    hasOption(url, name) ? [] : [`&${name}=${value}`],
  );
  if (!isWithoutAddressWarning) withoutAddressWarning();
  isWithoutAddressWarning = true;
  try {
    if (/[?&]nodePreference=(?!leader(&|$))/i.test(url.trim()))
      throw new ConfigError(
        'EVENTSTORE_URL has a nodePreference that is not leader; the service reads and writes at the leader only',
      );
    const client = connect(`${url.trim()}${url.includes('?') ? '&' : '?'}${SETTINGS}${defaults.join('')}`);
    const unknown = warnings.map((text) => /^Unknown option key "([^"]*)"/.exec(text)?.[1]).find(Boolean);
    if (unknown !== undefined) throw new ConfigError(`EVENTSTORE_URL has the unknown option "${unknown}"`);
    if (warnings.some((text) => text.includes('tlsVerifyCert')))
      throw new ConfigError(
        'EVENTSTORE_URL has tlsVerifyCert=false, which has no effect; name the certificate authority with tlsCAFile',
      );
    return client;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { message } = error as Error;
    // The part of the string that the client quotes may contain the password.
    const expectation = /at position \d+, expected .*$/s.exec(message)?.[0];
    throw new ConfigError(
      `EVENTSTORE_URL cannot be used: ${expectation ? `something else ${expectation}` : message} (esdb://[USER:PASSWORD@]HOST:PORT[?tls=false])`,
    );
  } finally {
    console.warn = warn;
  }
};
