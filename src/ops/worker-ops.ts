import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { EventLog } from '../event-log/event-log.js';
import type { WatchPool } from '../read-models/pools.js';
import { listenAt, type PortSetting } from '../runtime/listen.js';
import type { Tell } from '../runtime/log-line.js';
import { Lanes } from './lanes.js';
import { registerStores } from './parts.js';
import { ProjectionLags } from './projection-lag.js';
import { watchProjections } from './projection-figures.js';
import { Readiness } from './readiness.js';
import { createScrape } from './scrape.js';
import { watchWebhooks } from './webhook-figures.js';

const MAX_CONNECTIONS = 64;

/** What a worker, a process without an API, tells its operator over HTTP: whether it lives and is ready, and metrics. */
export class WorkerOps {
  readonly lanes = new Lanes();
  private readonly readiness: Readiness;
  readonly registry = new Registry();
  private scrape = (): Promise<string> => this.registry.metrics();
  private hasBegun = false;
  private readonly server = createServer(
    { headersTimeout: 5_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000, keepAliveTimeout: 72_000 },
    (request, response) => void this.answer(request, response),
  );

  /** @param asked once it aborts, the process says that it is stopping */
  constructor(
    private readonly tell: Tell,
    private readonly asked: AbortSignal,
  ) {
    this.readiness = new Readiness(tell);
    this.readiness.register('tables', () =>
      this.hasBegun ? { state: 'ok' } : { state: 'away', detail: 'Not at this version yet; see the log' },
    );
    this.readiness.register('lanes', () => ({
      state: this.lanes.stuck().length > 0 ? 'degraded' : 'ok',
      detail: Object.fromEntries(
        this.lanes.list().map(({ lane, isHeld }) => [lane, isHeld ? 'working' : 'standing by']),
      ),
    }));
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  /**
   * Listens, before anything else has begun.
   * @throws ConfigError or AddressInUse naming the setting
   */
  async listen(host: string, port: number, portName: PortSetting): Promise<void> {
    const listen = async (place: { host: string; port: number }): Promise<AddressInfo> => {
      await once(this.server.listen(place), 'listening');
      return this.server.address() as AddressInfo;
    };
    const { address, family, port: taken } = await listenAt({ listen }, { host, port }, portName);
    const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
    this.tell(`Health and metrics for operators on ${url}`);
  }

  /**
   * From here on the log and the read models are parts of it.
   * @param figures whose it tells
   */
  begin(log: EventLog, pool: WatchPool, figures: 'projections' | 'webhooks'): void {
    const lags = new ProjectionLags(log, pool);
    registerStores(this.readiness, log, lags);
    const { registry, lanes } = this;
    collectDefaultMetrics({ register: registry });
    new Gauge({
      name: 'lane_held',
      help: 'Whether this process works in the lane (1) or stands by (0)',
      labelNames: ['lane'],
      registers: [registry],
      collect() {
        for (const { lane, isHeld } of lanes.list()) this.set({ lane }, isHeld ? 1 : 0);
      },
    });
    this.scrape = createScrape(registry, [
      figures === 'projections' ? watchProjections(lags, registry) : watchWebhooks(pool, registry),
    ]);
    this.hasBegun = true;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    // A client that keeps a connection open must not delay the end of the process.
    this.server.closeAllConnections();
    await closed;
  }

  /** A loop that stands while a database does not answer is no reason to start the process again. */
  private async isLive(): Promise<boolean> {
    return this.lanes.stuck().length === 0 || (await this.readiness.report()).status === 'not-ready';
  }

  private async answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (status: number, type: string, body: string): void => {
      if (status === 503) response.setHeader('retry-after', '1');
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
      response.end(method === 'HEAD' ? undefined : body);
    };
    const sendJson = (status: number, body: object): void => send(status, 'application/json', JSON.stringify(body));
    if (method !== 'GET' && method !== 'HEAD') return sendJson(405, { message: 'Only GET is answered here' });
    if (url === '/health/live') {
      const isLive = await this.isLive();
      return sendJson(isLive ? 200 : 503, isLive ? { status: 'live' } : { status: 'stuck', lanes: this.lanes.stuck() });
    }
    if (url === '/health/ready') {
      this.readiness.stopping = this.asked.aborted;
      const report = await this.readiness.report();
      return sendJson(report.status === 'ready' || report.status === 'degraded' ? 200 : 503, report);
    }
    if (url === '/metrics') return send(200, Registry.PROMETHEUS_CONTENT_TYPE, await this.scrape());
    sendJson(404, { message: 'Here are /health/live, /health/ready and /metrics' });
  }
}
