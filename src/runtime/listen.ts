import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from './config.js';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export type PortSetting = 'PORT' | 'OPS_PORT' | 'PROJECTOR_OPS_PORT' | 'DELIVERIES_OPS_PORT';

/** Another process listens on the port. Waiting has not helped (`requireFreePort`), so the operator has to decide. */
export class AddressInUse extends ConfigError {}

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

/** The processes of a killed service release their ports within 3 s. */
const FREE_WITHIN_MS = 5_000;
const PORT_POLL_INTERVAL_MS = 250;

/**
 * Waits until a port is free.
 * @param port not checked if undefined
 * @param isStopping ends the waiting
 * @throws AddressInUse if the port stays in use; ConfigError if this machine or user cannot listen on the address
 */
export const requireFreePort = async (
  { host, port }: { readonly host: string; readonly port: number | undefined },
  setting: PortSetting,
  isStopping: () => boolean,
): Promise<void> => {
  if (port === undefined) return;
  const probe = createServer();
  const listen = (address: ListenOptions): Promise<unknown> => once(probe.listen(address), 'listening');
  for (const end = performance.now() + FREE_WITHIN_MS; !isStopping(); await sleep(PORT_POLL_INTERVAL_MS))
    try {
      await listenAt({ listen }, { host, port }, setting);
      await new Promise((resolve) => probe.close(resolve));
      return;
    } catch (error) {
      if (!(error instanceof AddressInUse) || performance.now() > end) throw error;
    }
};
