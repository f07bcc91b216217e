import { ConfigError } from './config.js';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export type PortSetting = 'PORT' | 'OPS_PORT' | 'PROJECTOR_OPS_PORT' | 'DELIVERIES_OPS_PORT';

/** Another process listens on the port. That process may stop, so a restart can help. */
export class AddressInUse extends Error {}

/** Maps errors that the settings cause to errors that name the setting. */
const asSettingError = ({ host, port }: ListenAddress, portName: PortSetting, error: unknown): unknown => {
  const hostName = portName === 'PORT' ? 'HOST' : 'OPS_HOST';
  switch ((error as { code?: string }).code) {
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return new ConfigError(
        `${hostName} is "${host}"; it must be an address of this machine, or a host name that resolves to one`,
      );
    case 'EACCES':
      return new ConfigError(`${portName} is ${port}; this user is not allowed to listen on that port`);
    case 'EADDRINUSE':
      return new AddressInUse(
        `${host}:${port} is in use by another process; stop it, or set ${portName} or ${hostName} to another value`,
      );
    default:
      return error;
  }
};

/**
 * Makes a server listen.
 * @param portName the setting that the port comes from
 * @throws ConfigError if this machine or user cannot listen on that address
 * @throws AddressInUse if another process listens on it
 */
export const listenAt = async <T>(
  server: { listen(address: ListenAddress): Promise<T> },
  address: ListenAddress,
  portName: PortSetting = 'PORT',
): Promise<T> => {
  try {
    return await server.listen(address);
  } catch (error) {
    throw asSettingError(address, portName, error);
  }
};
