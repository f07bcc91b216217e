import { ConfigError } from '../../runtime/config.js';

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Another process listens there. It may stop, so a restart can help. */
export class AddressInUse extends Error {}

/** Maps errors that the settings cause. */
const asSetting = ({ host, port }: Place, prefix: '' | 'OPS_', error: unknown): unknown => {
  switch ((error as { code?: string }).code) {
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return new ConfigError(`${prefix}HOST is "${host}"; it must be an address of this machine, or a name for one`);
    case 'EACCES':
      return new ConfigError(`${prefix}PORT is ${port}; this user may not listen there`);
    case 'EADDRINUSE':
      return new AddressInUse(
        `${host}:${port} is in use; ${prefix}PORT and ${prefix}HOST can set another place to listen`,
      );
    default:
      return error;
  }
};

/**
 * Makes a server listen.
 * @param prefix of the settings for host and port
 * @throws ConfigError if this machine or user cannot listen there
 * @throws AddressInUse
 */
export const listenAt = async <T>(
  server: { listen(place: Place): Promise<T> },
  place: Place,
  prefix: '' | 'OPS_' = '',
): Promise<T> => {
  try {
    return await server.listen(place);
  } catch (error) {
    throw asSetting(place, prefix, error);
  }
};
