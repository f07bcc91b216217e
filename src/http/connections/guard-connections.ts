import type { Server } from 'node:http';
import { Counter, type Registry } from 'prom-client';
import type { Config } from '../../runtime/config.js';
import { limitConnections } from './connections-per-address.js';
import { limitPipelining } from './pipelined-requests.js';
import { closeSlowReaders, LOW_MEMORY_RATE, type ReadingRate, NORMAL_RATE } from './slow-readers.js';

/**
 * Protects a server against clients that occupy connections, and counts refused and closed connections.
 * @param isMemoryLow whether unread responses take more than half of the memory reserved for them
 */
export const guardConnections = (
  server: Server,
  config: Config,
  registry: Registry,
  isMemoryLow: () => boolean,
): void => {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [registry] });
  const refused = counter(
    'threat_protection_http_connections_refused_total',
    'Connections refused because their address had reached the limit of open connections',
  );
  const stalled = counter(
    'threat_protection_http_connections_stalled_total',
    'Connections closed because the client read a waiting response too slowly',
  );
  const pipelined = counter(
    'threat_protection_http_connections_pipelined_total',
    'Connections closed because too many pipelined requests were waiting',
  );
  // Behind a proxy, all connections have the address of the proxy.
  const max = config.trustProxy.length > 0 ? 0 : config.maxConnectionsPerAddress;
  limitConnections(server, max, () => refused.inc());
  limitPipelining(server, () => pipelined.inc());
  const rate = (): ReadingRate => (isMemoryLow() ? LOW_MEMORY_RATE : NORMAL_RATE);
  closeSlowReaders(server, () => stalled.inc(), rate);
};
