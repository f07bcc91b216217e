import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ApiResponse, call, type CallOptions } from '../../support/call.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { operatorCall } from '../../support/operator-call.js';
import { PGBOUNCER, PGBOUNCER_PACKAGE, type PgBouncer, startPgBouncer, USABLE } from '../../support/pgbouncer.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';
import { describeWith } from '../../support/tools.js';
import { cloudEvent, sentThreat } from '../../support/upstream.js';

const TIMEOUT_MS = 300_000;
const CLOUD_EVENT = { 'content-type': 'application/cloudevents+json' };
const THREATS = 240;
const RANGE = 'startDate=2024-01-01&endDate=2030-01-01';

const statusesOf = (answers: readonly ApiResponse[]): number[] => [...new Set(answers.map(({ status }) => status))];

describeWith(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE)('The service behind PgBouncer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'behind-pgbouncer-'));
  const webhookRequests: string[] = [];
  const receiver: Server = createServer((request, response) => {
    webhookRequests.push(request.url!);
    request.resume().once('end', () => response.end());
  });
  const running: Program[] = [];
  let database: TestDatabase;
  let pooler: PgBouncer;
  let env: NodeJS.ProcessEnv;
  let urls: string[];
  let key = '';
  let turn = 0;

  /** Calls the two APIs in turn. */
  const ask = (path: string, options?: CallOptions) => call(`${urls[(turn += 1) % 2]}/v2${path}`, { key, ...options });
  const operate = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await operatorCall(env, ...words);
    expect({ code, err }).toMatchObject({ code: 0 });
    return out.trimEnd();
  };

  beforeAll(async () => {
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    database = await createDatabase({ migrated: false });
    pooler = await startPgBouncer(database.url, USABLE);
    const keys = join(folder, 'keys');
    writeFileSync(keys, `${Buffer.alloc(32, 7).toString('base64')}\n`);
    env = {
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: database.url,
      DATA_DIR: join(folder, 'data'),
      PORT: '0',
      ACCESS_LOG: 'off',
      WEBHOOK_MASTER_KEY_FILE: keys,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
    };
    running.push(startProgram('src/cli.js', ['start'], { env }), startProgram('src/main.js', [], { env }));
    urls = await Promise.all(running.map((program) => program.listening()));
    for (const url of urls)
      await eventually('the service is ready', async () => (await fetch(`${url}/health/ready`)).status === 200);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await Promise.all(running.map((program) => program.end()));
    await pooler.stop();
    await database.drop();
    receiver.close();
    rmSync(folder, { recursive: true, force: true });
  }, TIMEOUT_MS);

  it(
    'stores, counts, lists, groups, checks and delivers, and a recount finds no difference',
    async () => {
      key = (await operate('keys', 'issue', '--organization', 'acme', '--scope', 'read', '--scope', 'write')).split(
        '\n',
      )[0]!;
      const ingest = (await operate('keys', 'issue', '--scope', 'ingest')).split('\n')[0]!;
      const { port } = receiver.address() as AddressInfo;
      await eventuallyPasses(async () => {
        const webhook = await ask('/organization/webhooks', { json: { url: `http://127.0.0.1:${port}/told` } });
        expect(webhook).toMatchObject({ status: 201 });
      });
      const events = Array.from({ length: THREATS }, (_, n) => cloudEvent(sentThreat(`threat-${n}`)));
      // Each process polls for new keys, so the two processes accept a new key at different times.
      for (const url of urls)
        await eventually('the ingest key is accepted', async () => {
          const dryRun = await call(`${url}/v2/events?dryRun=true`, {
            key: ingest,
            json: events[0],
            headers: CLOUD_EVENT,
          });
          return dryRun.status === 200;
        });
      // Sends different requests concurrently, so that the two processes want more connections than there are.
      const answers = await Promise.all(
        events.map((json) => ask('/events', { key: ingest, json, headers: CLOUD_EVENT })),
      );
      expect(statusesOf(answers)).toEqual([200]);
      await eventuallyPasses(async () => {
        const { status, body } = await ask(`/organization/metrics?${RANGE}`);
        expect({ status, body }).toMatchObject({ status: 200, body: { metrics: { newThreats: THREATS } } });
      });

      const reads = [
        `/organization/threats?${RANGE}`,
        `/organization/metrics/timeline?${RANGE}&interval=month`,
        '/organization/feed',
        '/organization',
      ];
      const read = await Promise.all(Array.from({ length: 60 }, (_, n) => ask(reads[n % reads.length]!)));
      expect(statusesOf(read)).toEqual([200]);
      const table = await ask(`/organization/threats.csv?${RANGE}`);
      expect((table.body as string).trimEnd().split('\n')).toHaveLength(THREATS + 1);

      const names = Array.from({ length: 20 }, (_, n) => `Group ${n}`);
      const groups = await Promise.all(names.map((name) => ask('/organization/asset-groups', { json: { name } })));
      expect(statusesOf(groups)).toEqual([201]);
      const { body: check } = await ask('/asset/check', { json: { content: 'https://bad.example/', type: 'URL' } });
      expect(check).toHaveProperty('status');
      await eventuallyPasses(async () => {
        const { body } = await ask('/organization/asset-groups');
        expect(body.groups).toHaveLength(names.length);
      });
      await eventually('the webhook got the delivery', () => webhookRequests.length > 0);

      await operate('projections', 'rebuild');
      expect(await operate('projections', 'verify')).toBe('0 differences');
      expect(await operate('projections', 'status')).toContain('metrics');
      expect((await ask(`/organization/metrics?${RANGE}`)).body.metrics.newThreats).toBe(THREATS);
    },
    TIMEOUT_MS,
  );

  it('logs no warning', () => {
    const output = running.map((program) => program.output()).join('');
    expect(output).toContain('Lease acquired; delivering webhooks');
    expect(output).not.toMatch(/"level":"(?:error|warn)"/);
  });
});
