import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { openEventLog } from '../../src/event-log/open-event-log.js';
import { readConfig } from '../../src/runtime/config.js';
import { type ApiResponse, call } from './call.js';
import { eventually, eventuallyPasses } from './eventually.js';
import { freePort } from './free-port.js';
import { type Program, startProgram } from './program.js';
import { Receiver } from './receiver.js';
import { cloudEvent, sentThreat } from './upstream.js';

/** The programs of a deployment: the API, the projector and the delivery process. */
export const PROGRAMS = ['src/main.js', 'projections/main.js', 'src/deliver.js'] as const;
const CLOUD_EVENT = { 'content-type': 'application/cloudevents+json' };
const RANGE = 'startDate=2020-01-01&endDate=2030-12-31';

/** The three processes of a deployment, with a webhook whose receiver belongs to the spec. */
export class Deployment {
  readonly receiver = new Receiver();
  private readonly running: Program[] = [];
  private url = '';
  private opsPorts: readonly number[] = [];
  private ingestKey = '';
  private readKey = '';

  constructor(private readonly env: NodeJS.ProcessEnv) {}

  /** Starts the processes, and does not wait for them. */
  async begin(): Promise<void> {
    const [projector, deliveries] = (this.opsPorts = [await freePort(), await freePort()]);
    const env = {
      ...this.env,
      PORT: '0',
      PROJECTOR_OPS_PORT: String(projector),
      DELIVERIES_OPS_PORT: String(deliveries),
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
    };
    this.running.push(...PROGRAMS.map((program) => startProgram(program, [], { env })));
  }

  /** Starts the processes and waits until an event is counted and delivered. */
  async start(): Promise<void> {
    const receiver = await this.receiver.start();
    await this.begin();
    this.url = await this.running[0]!.listening();
    const log = await openEventLog(readConfig(this.env));
    this.ingestKey = (await issueApiKey(log, { scopes: ['ingest'] })).key;
    this.readKey = (await issueApiKey(log, { organization: 'acme', scopes: ['read', 'write'] })).key;
    await log.close();
    await eventuallyPasses(async () => {
      const json = { url: `${receiver}/hook` };
      const created = await call(`${this.url}/v2/organization/webhooks`, { key: this.readKey, json });
      expect(created).toMatchObject({ status: 201 });
    });
    await this.works();
  }

  /** Stops the processes, which release their leases, so that another deployment of the database can start at once. */
  async stop(): Promise<void> {
    await Promise.all(this.running.map((program) => program.stop()));
    await this.receiver.stop();
  }

  /** Ends the processes of a deployment that is the last one of its database. */
  async end(): Promise<void> {
    await Promise.all(this.running.map((program) => program.end()));
    await this.receiver.stop();
  }

  read(): Promise<ApiResponse> {
    return call(`${this.url}/v2/organization/metrics?${RANGE}`, { key: this.readKey });
  }

  post(threatId: string): Promise<ApiResponse> {
    const json = cloudEvent(sentThreat(threatId));
    return call(`${this.url}/v2/events`, { key: this.ingestKey, json, headers: CLOUD_EVENT });
  }

  /** The statuses of the readiness of all processes; 503 for an API that does not listen yet. */
  ready(): Promise<number[]> {
    const urls = [this.running[0]!.url(), ...this.opsPorts.map((port) => `http://127.0.0.1:${port}`)];
    return Promise.all(
      urls.map(async (url) => (url === undefined ? 503 : (await fetch(`${url}/health/ready`)).status)),
    );
  }

  async metricsOf(program: 'projector' | 'deliveries'): Promise<string> {
    const port = this.opsPorts[program === 'projector' ? 0 : 1]!;
    return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  }

  /** Waits until an event that is sent now is counted and delivered. */
  async works(timeoutMs?: number): Promise<void> {
    const threatId = `threat-${randomBytes(6).toString('hex')}`;
    const before = performance.now();
    const left = (): number | undefined => timeoutMs && Math.max(1, timeoutMs - (performance.now() - before));
    await eventuallyPasses(async () => expect(await this.post(threatId)).toMatchObject({ status: 200 }), left());
    let counted: ApiResponse | undefined;
    await eventuallyPasses(async () => {
      counted = await this.read();
      expect(counted).toMatchObject({ status: 200 });
      const listed = await call(`${this.url}/v2/organization/threats?${RANGE}`, { key: this.readKey });
      expect(JSON.stringify(listed.body)).toContain(threatId);
    }, left());
    const isDelivered = (): boolean => this.receiver.received.some(({ body }) => body.includes(threatId));
    await eventually('the event is delivered', isDelivered, left());
    await this.isReady(left());
  }

  /** Waits until all processes are ready. */
  isReady(timeoutMs?: number): Promise<void> {
    return eventuallyPasses(async () => expect(await this.ready()).toEqual([200, 200, 200]), timeoutMs);
  }

  programOf(name: (typeof PROGRAMS)[number]): Program {
    return this.running[PROGRAMS.indexOf(name)]!;
  }

  isRunning(): boolean[] {
    return this.running.map((program) => !program.isOver());
  }

  /** How many lines of each process contain a text. */
  linesWith(text: string): number[] {
    return this.running.map(
      (program) =>
        program
          .output()
          .split('\n')
          .filter((line) => line.includes(text)).length,
    );
  }
}
