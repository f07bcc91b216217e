import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXIT_CONFIG } from '../../../src/runtime/config.js';
import { type ApiResponse, call } from '../../support/call.js';
import { busyFactor, eventually, eventuallyPasses } from '../../support/eventually.js';
import { EventStoreDouble } from '../../support/eventstore-double/server.js';
import { freePort } from '../../support/free-port.js';
import { removeFolder, temporaryFolder } from '../../support/installation.js';
import { type Program, startProgram } from '../../support/program.js';
import { queryOnce } from '../../support/query-once.js';
import { Receiver } from '../../support/receiver.js';
import { AUTHORITY, TlsProxy } from '../../support/tls-proxy.js';
import { cloudEvent, sentThreat } from '../../support/upstream.js';

const TIMEOUT_MS = 240_000;
/** How long after the repair of a cause everything may take to work again. */
const MAX_RECOVERY_MS = 10_000;
const PROGRAMS = ['src/main.js', 'projections/main.js', 'src/deliver.js'] as const;
const CLOUD_EVENT = { 'content-type': 'application/cloudevents+json' };
const RANGE = 'startDate=2020-01-01&endDate=2030-12-31';

/** The three processes of a deployment, with a webhook whose receiver belongs to the spec. */
class Deployment {
  readonly receiver = new Receiver();
  private readonly running: Program[] = [];
  private url = '';
  private opsPorts: readonly number[] = [];
  private ingestKey = '';
  private readKey = '';

  constructor(private readonly env: NodeJS.ProcessEnv) {}

  async start(): Promise<void> {
    const receiver = await this.receiver.start();
    const [projector, deliveries] = (this.opsPorts = [await freePort(), await freePort()]);
    const env = {
      ...this.env,
      PORT: '0',
      PROJECTOR_OPS_PORT: String(projector),
      DELIVERIES_OPS_PORT: String(deliveries),
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
    };
    this.running.push(...PROGRAMS.map((program) => startProgram(program, [], { env })));
    this.url = await this.running[0]!.listening();
    const issue = async (...words: string[]): Promise<string> => {
      const call = startProgram('src/cli.js', ['keys', 'issue', ...words], { env: this.env });
      if ((await call.ended()) !== 0) throw new Error(call.output());
      return call.out().trim();
    };
    this.ingestKey = await issue('--scope', 'ingest');
    this.readKey = await issue('--organization', 'acme', '--scope', 'read', '--scope', 'write');
    await eventuallyPasses(async () => {
      const json = { url: `${receiver}/hook` };
      const created = await call(`${this.url}/v2/organization/webhooks`, { key: this.readKey, json });
      expect(created).toMatchObject({ status: 201 });
    });
    await this.works();
  }

  async stop(): Promise<void> {
    await Promise.all(this.running.map((program) => program.stop()));
    await this.receiver.stop();
  }

  read(): Promise<ApiResponse> {
    return call(`${this.url}/v2/organization/metrics?${RANGE}`, { key: this.readKey });
  }

  post(threatId: string): Promise<ApiResponse> {
    const json = cloudEvent(sentThreat(threatId));
    return call(`${this.url}/v2/events`, { key: this.ingestKey, json, headers: CLOUD_EVENT });
  }

  /** The statuses of the readiness of all processes. */
  ready(): Promise<number[]> {
    const urls = [this.url, ...this.opsPorts.map((port) => `http://127.0.0.1:${port}`)];
    return Promise.all(urls.map(async (url) => (await fetch(`${url}/health/ready`)).status));
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
    await eventuallyPasses(async () => expect(await this.ready()).toEqual([200, 200, 200]), left());
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

/** What makes the database refuse connections, and how it is repaired. */
interface Cause {
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
  /** In the log. */
  readonly message: string;
}

describe('A database that refuses connections', () => {
  const suffix = randomBytes(6).toString('hex');
  const [role, database] = [`role_${suffix}`, `test_${suffix}`];
  const server = new URL(process.env['TEST_DATABASE_URL']!);
  const proxy = new TlsProxy({ host: server.hostname, port: Number(server.port) });
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let hbaFile: string;
  let hba: string;

  const sql = (statement: string): Promise<unknown> => queryOnce(server.href, statement);
  const endSessions = (): Promise<unknown> =>
    sql(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}' or datname = '${database}'`);
  const after = (statement: string) => async (): Promise<void> => {
    await sql(statement);
    await endSessions();
  };
  const proxyAnswers = (answer: TlsProxy['answer']) => async (): Promise<void> => {
    proxy.answer = answer;
    proxy.drop();
  };
  const close = after(`alter database ${database} allow_connections false`);
  const withHba = (lines: string) => async (): Promise<void> => {
    writeFileSync(hbaFile, lines + hba);
    await sql('select pg_reload_conf()');
    await eventually('the rules are read', async () => {
      const [first] = (await sql('select user_name from pg_hba_file_rules order by line_number limit 1')) as {
        user_name: string[];
      }[];
      return first!.user_name.includes(role) === (lines !== '');
    });
    await endSessions();
  };

  const causes: Readonly<Record<string, Cause>> = {
    'another password': {
      begin: after(`alter role ${role} password 'other'`),
      end: after(`alter role ${role} password 'good'`),
      message: 'correct the user and password in DATABASE_URL',
    },
    'a role that may not log in': {
      begin: after(`alter role ${role} nologin`),
      end: after(`alter role ${role} login`),
      message: 'is not permitted to log in',
    },
    'a missing role': {
      begin: after(`alter role ${role} rename to ${role}_away`),
      end: after(`alter role ${role}_away rename to ${role}`),
      message: 'correct the user and password in DATABASE_URL',
    },
    'a missing database': {
      begin: async () => {
        await close();
        await eventuallyPasses(async () => {
          await endSessions();
          await sql(`alter database ${database} rename to ${database}_away`);
        });
      },
      end: async () => {
        await sql(`alter database ${database}_away rename to ${database}`);
        await sql(`alter database ${database} allow_connections true`);
      },
      message: 'create the database, or correct its name in DATABASE_URL',
    },
    'a database that accepts no connections': {
      begin: close,
      end: after(`alter database ${database} allow_connections true`),
      message: 'let the database accept connections',
    },
    'a role without the right to connect': {
      begin: after(`revoke connect on database ${database} from public, ${role}`),
      end: after(`grant connect on database ${database} to ${role}`),
      message: 'grant connect, create on database NAME to ROLE',
    },
    'a rule of pg_hba.conf': {
      begin: (): Promise<void> => withHba(`host all ${role} all reject\n`)(),
      end: (): Promise<void> => withHba('')(),
      message: 'pg_hba.conf rejects connection',
    },
    'an untrusted certificate': {
      begin: proxyAnswers('untrusted'),
      end: proxyAnswers('trusted'),
      message: 'name the certificate authority of the server with sslrootcert=FILE',
    },
    'a server without TLS': {
      begin: proxyAnswers('none'),
      end: proxyAnswers('trusted'),
      message: 'enable TLS on the server',
    },
  };
  const names = Object.keys(causes);

  beforeAll(async () => {
    folder = await temporaryFolder();
    await proxy.open();
    await sql(`create role ${role} login password 'good'`);
    await sql(`create database ${database} owner ${role}`);
    hbaFile = ((await sql('show hba_file')) as { hba_file: string }[])[0]!.hba_file;
    if (!existsSync(hbaFile))
      throw new Error(`The server of the specs must run on this machine: ${hbaFile} is missing`);
    hba = readFileSync(hbaFile, 'utf8');
    const [authority, masterKey] = [join(folder, 'authority.pem'), join(folder, 'master-key')];
    writeFileSync(authority, AUTHORITY);
    writeFileSync(masterKey, `${Buffer.alloc(32, 7).toString('base64')}\n`);
    env = {
      DATABASE_URL: `postgres://${role}:good@127.0.0.1:${proxy.port}/${database}?sslmode=verify-full&sslrootcert=${authority}`,
      DATA_DIR: join(folder, 'data'),
      WEBHOOK_MASTER_KEY_FILE: masterKey,
    };
  }, TIMEOUT_MS);

  afterAll(async () => {
    proxy.close();
    await endSessions();
    await sql(`drop database if exists ${database} with (force)`);
    await sql(`drop role if exists ${role}`);
    await removeFolder(folder);
  }, TIMEOUT_MS);

  describe('at the start', () => {
    it.each(names)(
      'ends each process with 78 and one line that says what to do: %s',
      async (name) => {
        const { begin, end, message } = causes[name]!;
        await begin();
        try {
          const ended = PROGRAMS.map((program) => startProgram(program, [], { env: { ...env, PORT: '0' } }));
          expect(await Promise.all(ended.map((program) => program.ended()))).toEqual(PROGRAMS.map(() => EXIT_CONFIG));
          for (const program of ended) {
            const lines = program.output().trimEnd().split('\n');
            expect(lines).toEqual([expect.stringContaining(message)]);
          }
        } finally {
          await end();
        }
      },
      TIMEOUT_MS,
    );
  });

  describe('at run time', () => {
    let deployment: Deployment;
    beforeAll(async () => {
      deployment = new Deployment(env);
      await deployment.start();
    }, TIMEOUT_MS);
    afterAll(() => deployment.stop());

    it.each(names)(
      'is waited for by all processes, responded to with 503, and everything works within 10 s of the repair: %s',
      async (name) => {
        const { begin, end, message } = causes[name]!;
        const lines = deployment.linesWith(message);
        await begin();
        try {
          const refused = { status: 503, headers: expect.objectContaining({}), body: { code: 'SERVICE_UNAVAILABLE' } };
          await eventuallyPasses(async () => expect(await deployment.read()).toMatchObject(refused));
          for (const response of [await deployment.read(), await deployment.post('refused')]) {
            expect(response).toMatchObject(refused);
            expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
          }
          await eventuallyPasses(async () => expect(await deployment.ready()).toEqual([503, 503, 503]));
          // A scrape may share the answer of the one before it.
          for (const process of ['projector', 'deliveries'] as const)
            await eventuallyPasses(async () =>
              expect(await deployment.metricsOf(process)).toContain('threat_protection_read_models_up 0'),
            );
          const written = (): number[] => deployment.linesWith(message).map((count, index) => count - lines[index]!);
          await eventuallyPasses(() => expect(Math.min(...written())).toBeGreaterThan(0));
          expect(deployment.isRunning()).toEqual([true, true, true]);
        } finally {
          await end();
        }
        await deployment.works(MAX_RECOVERY_MS * busyFactor());
        expect(deployment.isRunning()).toEqual([true, true, true]);
      },
      TIMEOUT_MS,
    );
  });

  describe('an EventStoreDB that refuses the user', () => {
    const user = { name: 'service', password: 'good' };
    let store: EventStoreDouble;
    let withStore: NodeJS.ProcessEnv;
    let deployment: Deployment | undefined;

    beforeAll(async () => {
      store = await EventStoreDouble.start(undefined, 0, user);
      await sql(`create database ${database}_es owner ${role}`);
      const url = env['DATABASE_URL']!.replace(`/${database}?`, `/${database}_es?`);
      withStore = { ...env, EVENTSTORE_URL: store.url, DATABASE_URL: url };
    }, TIMEOUT_MS);
    afterAll(async () => {
      await deployment?.stop();
      await store.stop();
      await sql(`drop database ${database}_es with (force)`);
    }, TIMEOUT_MS);

    it(
      'ends each process at the start with 78',
      async () => {
        user.password = 'other';
        const ended = PROGRAMS.map((program) => startProgram(program, [], { env: { ...withStore, PORT: '0' } }));
        expect(await Promise.all(ended.map((program) => program.ended()))).toEqual(PROGRAMS.map(() => EXIT_CONFIG));
        for (const program of ended) expect(program.output()).toContain('refuses this user and password');
        user.password = 'good';
      },
      TIMEOUT_MS,
    );

    it(
      'is waited for at run time, and everything works within 10 s of the repair',
      async () => {
        deployment = new Deployment(withStore);
        await deployment.start();
        user.password = 'other';
        // Open calls stay authenticated.
        store.dropConnections();
        await eventuallyPasses(async () => expect(await deployment!.post('refused')).toMatchObject({ status: 503 }));
        expect(Number((await deployment.post('refused')).headers.get('retry-after'))).toBeGreaterThan(0);
        await eventuallyPasses(async () => expect(await deployment!.ready()).toEqual([503, 503, 503]));
        expect(await deployment.read()).toMatchObject({ status: 200 });
        expect(deployment.isRunning()).toEqual([true, true, true]);
        user.password = 'good';
        await deployment.works(MAX_RECOVERY_MS * busyFactor());
      },
      TIMEOUT_MS,
    );
  });
});
