import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { listenAt, type PortSetting } from '../runtime/listen.js';
import type { Report } from './readiness.js';

/** The reports of a process that its operator can request. */
export interface OperatorReports {
  /** The lanes whose lack of progress is a reason to restart the process. If the list is empty, the process is live. */
  stuckLanes(): Promise<readonly string[]>;
  readiness(): Promise<Report>;
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
}

const MAX_CONNECTIONS = 64;
const PATHS = ['/health/live', '/health/ready', '/metrics'];

/** Serves `/health/live`, `/health/ready` with all details, and `/metrics`, on a port for operators. */
export class OperatorServer {
  private readonly server = createServer(
    { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000, keepAliveTimeout: 72_000 },
    (request, response) => void this.respond(request, response),
  );

  constructor(private readonly reports: OperatorReports) {
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  /**
   * @returns the URL on which the server listens
   * @throws ConfigError naming the setting
   */
  async listen(host: string, port: number, setting: PortSetting): Promise<string> {
    const listen = async (address: { host: string; port: number }): Promise<AddressInfo> => {
      await once(this.server.listen(address), 'listening');
      return this.server.address() as AddressInfo;
    };
    const { address, family, port: taken } = await listenAt({ listen }, { host, port }, setting);
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // A client that keeps a connection open must not delay the exit of the process.
    this.server.closeAllConnections();
    await closed;
  }

  private async respond({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = url.split('?', 1)[0]!;
    const send = (status: number, type: string, body: string): void => {
      if (status === 503) response.setHeader('retry-after', '1');
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(method === 'HEAD' ? undefined : body);
    };
    const sendJson = (status: number, body: object): void => send(status, 'application/json', JSON.stringify(body));
    if (!PATHS.includes(path))
      return sendJson(404, { code: 'NOT_FOUND', message: `This port serves ${PATHS.join(', ')}` });
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return sendJson(405, { code: 'METHOD_NOT_ALLOWED', message: 'Use GET' });
    }
    try {
      if (path === '/metrics') return send(200, Registry.PROMETHEUS_CONTENT_TYPE, await this.reports.metrics());
      if (path === '/health/ready') {
        const report = await this.reports.readiness();
        return sendJson(report.status === 'ready' || report.status === 'degraded' ? 200 : 503, report);
      }
      const lanes = await this.reports.stuckLanes();
      sendJson(lanes.length === 0 ? 200 : 503, lanes.length === 0 ? { status: 'live' } : { status: 'stuck', lanes });
    } catch (error) {
      new Logger('operators').error(`${path} failed: ${error instanceof Error ? error.stack : String(error)}`);
      sendJson(500, { code: 'INTERNAL_SERVER_ERROR', message: 'The report failed; see the log of this process' });
    }
  }
}
