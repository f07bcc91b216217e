import type { Server } from 'node:http';
import { Counter, type Registry } from 'prom-client';
import type { Config } from '../../runtime/config.js';
import { limitConnections } from './connections-per-address.js';
import { limitPipelining } from './pipelined-requests.js';
import { cutSlowReaders, HURRIED_RATE, type ReadingRate, USUAL_RATE } from './slow-readers.js';

/**
 * Protects a server against clients that hold connections, and counts the connections refused and cut.
 * @param isMemoryShort whether much of the memory for answers is held by clients that have not read them
 */
export const guardConnections = (
  server: Server,
  config: Config,
  registry: Registry,
  isMemoryShort: () => boolean,
): void => {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers: [registry] });
  const refused = counter(
    'threat_protection_http_connections_refused_total',
    'Connections refused: their address had enough of them',
  );
  const cut = counter(
    'threat_protection_http_connections_stalled_total',
    'Connections cut: an answer waited, and too little of it was read',
  );
  const pipelined = counter(
    'threat_protection_http_connections_pipelined_total',
    'Connections cut: too many requests waited behind the one being answered',
  );
  // Behind a proxy all connections come from its address.
  const most = config.trustProxy.length > 0 ? 0 : config.maxConnectionsPerAddress;
  limitConnections(server, most, () => refused.inc());
  limitPipelining(server, () => pipelined.inc());
  const rate = (): ReadingRate => (isMemoryShort() ? HURRIED_RATE : USUAL_RATE);
  cutSlowReaders(server, () => cut.inc(), rate);
};
