import { ConfigError } from '../../config.js';

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Somebody else listens there. They may leave, so it is worth another start. */
export class AddressInUse extends Error {}

/** What the settings name may not be there, or not be ours. */
const asSetting = ({ host, port }: Place, prefix: '' | 'OPS_', error: unknown): unknown => {
  switch ((error as { code?: string }).code) {
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return new ConfigError(
        `${prefix}HOST is "${host}"; it must be an address of this machine, or a name that stands for one`,
      );
    case 'EACCES':
      return new ConfigError(`${prefix}PORT is ${port}; this user may not listen there`);
    case 'EADDRINUSE':
      return new AddressInUse(
        `${host}:${port} is in use; ${prefix}PORT and ${prefix}HOST name another place to listen`,
      );
    default:
      return error;
  }
};

/**
 * Makes a server listen.
 * @param prefix of the settings that name the place
 * @throws ConfigError where this machine or user has no such place
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
