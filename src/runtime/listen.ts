import { ConfigError } from './config.js';

interface Place {
  readonly host: string;
  readonly port: number;
}

export type PortSetting = 'PORT' | 'OPS_PORT' | 'PROJECTOR_OPS_PORT' | 'DELIVERIES_OPS_PORT';

/** Another process listens there. It may stop, so a restart can help. */
export class AddressInUse extends Error {}

/** Maps errors that the settings cause. */
const asSetting = ({ host, port }: Place, portName: PortSetting, error: unknown): unknown => {
  const hostName = portName === 'PORT' ? 'HOST' : 'OPS_HOST';
  switch ((error as { code?: string }).code) {
    case 'ENOTFOUND':
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
      return new ConfigError(`${hostName} is "${host}"; it must be an address of this machine, or a name for one`);
    case 'EACCES':
      return new ConfigError(`${portName} is ${port}; this user may not listen there`);
    case 'EADDRINUSE':
      return new AddressInUse(`${host}:${port} is in use; ${portName} and ${hostName} can set another place to listen`);
    default:
      return error;
  }
};

/**
 * Makes a server listen.
 * @param portName the setting that the port is from
 * @throws ConfigError if this machine or user cannot listen there
 * @throws AddressInUse
 */
export const listenAt = async <T>(
  server: { listen(place: Place): Promise<T> },
  place: Place,
  portName: PortSetting = 'PORT',
): Promise<T> => {
  try {
    return await server.listen(place);
  } catch (error) {
    throw asSetting(place, portName, error);
  }
};
