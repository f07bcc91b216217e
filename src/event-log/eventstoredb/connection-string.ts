import { ConfigError } from '../../config.js';

/** The client tells a silent server by its missing answer to a ping: this long after it fell silent, twice. */
const KEEP_ALIVE_MS = 1_000;
/**
 * Sent along with each append as a point in time, for the server to hold against its own clock; it gives up after two
 * seconds anyway. So far ahead that a clock that is wrong by hours does not have every append refused.
 */
const DEADLINE_MS = 86_400_000;
/** How long one node of a cluster may take to say who leads; the client's five seconds are long where one is frozen. */
const GOSSIP_SECONDS = 1;
const SETTINGS = `keepAliveInterval=${KEEP_ALIVE_MS}&keepAliveTimeout=${KEEP_ALIVE_MS}&throwOnAppendFailure=true&nodePreference=leader`;
const DEFAULTS = { defaultDeadline: DEADLINE_MS, gossipTimeout: GOSSIP_SECONDS };

const hasOption = (url: string, name: string): boolean => new RegExp(`[?&]${name}=`, 'i').test(url);

/**
 * Node warns of a certificate's name that is an address, at each start, and the operator can do nothing about it: gRPC
 * always sends the name. The certificate is checked against the address all the same.
 */
const withoutAddressWarning = (): void => {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!(rest as unknown[]).includes('DEP0123')) emitWarning(warning, ...rest);
  }) as typeof process.emitWarning;
};
let isWithoutAddressWarning = false;

/**
 * Makes a client from a connection string with our settings added, and without the client's complaints, some of which
 * hold the password; those about settings stop the start.
 * @throws ConfigError where the connection string cannot be used
 */
export const connectBy = <Client>(url: string, connect: (url: string) => Client): Client => {
  const complaints: string[] = [];
  const warn = console.warn;
  console.warn = (text: unknown): void => void complaints.push(String(text));
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
    const unknown = complaints.map((text) => /^Unknown option key "([^"]*)"/.exec(text)?.[1]).find(Boolean);
    if (unknown !== undefined) throw new ConfigError(`EVENTSTORE_URL has the unknown option "${unknown}"`);
    if (complaints.some((text) => text.includes('tlsVerifyCert')))
      throw new ConfigError(
        'EVENTSTORE_URL has tlsVerifyCert=false, which has no effect; name the certificate authority with tlsCAFile',
      );
    return client;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { message } = error as Error;
    // What the client quotes of the string may hold the password.
    const place = /at position \d+, expected .*$/s.exec(message)?.[0];
    throw new ConfigError(
      `EVENTSTORE_URL cannot be used: ${place ? `something else ${place}` : message} (esdb://[USER:PASSWORD@]HOST:PORT[?tls=false])`,
    );
  } finally {
    console.warn = warn;
  }
};
