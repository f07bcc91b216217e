import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EXIT_CONFIG } from '../../src/runtime/config.js';
import { migrate, type NumberedMigration } from '../../src/postgres/migrator.js';
import * as baseline from '../../src/read-models/migrations/0023-baseline.js';
import { call } from '../../test/support/call.js';
import { eventually, eventuallyPasses } from '../../test/support/eventually.js';
import { operatorCall } from '../../test/support/operator-call.js';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { type Program, startProgram } from '../../test/support/program.js';
import { cloudEvent, sent } from '../../test/support/upstream.js';
import { EXTENDED, extension } from './extension.js';
import { makeNextVersion } from './next-version.js';
import { buildReleaseBefore, hasReleaseBefore } from './release-before.js';

/** A build, and six starts of the whole service. */
const TIMEOUT_MS = 900_000;
const BATCH = 20;

const isHere = hasReleaseBefore();
if (!isHere)
  process.stderr.write('The release before is not in this clone (git fetch --unshallow): the upgrade is not tested.\n');
const describeUpgrade = isHere || process.env['REQUIRE_ALL'] === '1' ? describe : describe.skip;

const running: Program[] = [];

/** The API, the projector and their supervisor. */
const startService = (env: NodeJS.ProcessEnv, installed?: string): Program => {
  const service = startProgram('src/cli.js', ['start'], { env: { PORT: '0', ...env }, installed });
  running.push(service);
  return service;
};

const isReady = async (service: Program): Promise<void> => {
  const url = await service.listening();
  await eventually('the service is ready', async () => (await fetch(`${url}/health/ready`)).status === 200);
};

const batchOf = (batch: number): string =>
  JSON.stringify(
    Array.from({ length: BATCH }, (_, n) => {
      const reportId = `report-${batch}-${n}`;
      const at = '2026-02-03T12:00:00Z';
      const data = { organization: 'acme', reportId, brands: [], createdAt: at, updatedAt: at };
      return cloudEvent(sent('ReportFiled', data, reportId));
    }),
  );

/** Reports batch after batch to the services in turn, each until it is acknowledged. */
class Sender {
  acknowledged = 0;
  readonly wrong: string[] = [];
  private readonly stopping = new AbortController();
  private readonly done: Promise<void>;

  constructor(
    private readonly key: string,
    private services: readonly Program[],
  ) {
    this.done = this.send();
  }

  /** From now on to these, which take as many events as say that they work. */
  async to(...services: Program[]): Promise<void> {
    this.services = services;
    const due = this.acknowledged + 20 * BATCH;
    await eventually('they have taken events', () => this.acknowledged >= due);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.done;
  }

  private async send(): Promise<void> {
    for (let batch = 0; !this.stopping.signal.aborted; batch += 1) {
      const body = batchOf(batch);
      for (let turn = batch; !(await this.isTaken(body, turn)); turn += 1) await sleep(100);
      this.acknowledged += BATCH;
      await sleep(20);
    }
  }

  private async isTaken(body: string, turn: number): Promise<boolean> {
    const url = this.services[turn % this.services.length]!.url()!;
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const answer = await call(`${url}/v2/events`, { key: this.key, body, headers });
    if (answer.status !== 200 && answer.status !== 429)
      this.wrong.push(`${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.status === 200;
  }
}

describeUpgrade('A rolling upgrade', () => {
  let folder: string;
  let before: string;
  let database: TestDatabase;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
    before = await buildReleaseBefore(join(folder, 'before'));
  }, TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  beforeEach(async () => {
    database = await createDatabase({ migrated: false });
    env = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), RATE_LIMIT_PER_MINUTE: '0' };
  });
  afterEach(async () => {
    for (const { process } of running.splice(0)) process.kill('SIGKILL');
    await database.drop();
  });

  const issueKey = async (installed: string | undefined, ...words: string[]): Promise<string> => {
    const issued = startProgram('src/cli.js', ['keys', 'issue', ...words], { env, installed });
    expect(await issued.ended()).toBe(0);
    const key = issued.out().trim();
    const url = `${running[0]!.url()}/v2/organization/metrics`;
    await eventually('the key is known', async () => (await call(url, { key })).status !== 401);
    return key;
  };

  /** Every acknowledged event is counted and listed, and a recount from the log finds no difference. */
  const isComplete = async (service: Program, key: string, { acknowledged, wrong }: Sender): Promise<void> => {
    expect(wrong).toEqual([]);
    const metrics = `${service.url()}/v2/organization/metrics?startDate=2026-02-01&endDate=2026-02-28`;
    await eventuallyPasses(async () =>
      expect((await call(metrics, { key })).body).toMatchObject({ metrics: { reports: acknowledged } }),
    );
    const reports = `${service.url()}/v2/organization/reports?limit=1&count=true`;
    await eventually('the lists are filled', async () => (await call(reports, { key })).status === 200);
    expect(await service.stop()).toBe(0);
    expect((await operatorCall(env, 'projections', 'verify')).out).toContain('0 differences');
  };

  it(
    'loses no event, and the version before does not start again on tables that it cannot use',
    async () => {
      const first = startService(env, before);
      await isReady(first);
      const sender = new Sender(await issueKey(before, '--scope', 'ingest'), [first]);
      const reader = await issueKey(before, '--scope', 'read', '--organization', 'acme');
      await sender.to(first);
      const newer = startService(env);
      await isReady(newer);
      await sender.to(first, newer);
      await sender.to(newer);
      expect(await first.stop()).toBe(0);
      const back = startService(env, before);
      expect(await back.ended()).toBe(EXIT_CONFIG);
      expect(back.said()).toMatch(/0023-baseline removed what this version uses\. Start version 2\.1\.0 or later/);
      await sender.stop();
      await isComplete(newer, reader, sender);
    },
    TIMEOUT_MS,
  );

  it(
    'and the way back lose no event if the tables were only extended: either version starts beside the other',
    async () => {
      const next = await makeNextVersion(folder);
      const first = startService(env);
      await isReady(first);
      const sender = new Sender(await issueKey(undefined, '--scope', 'ingest'), [first]);
      const reader = await issueKey(undefined, '--scope', 'read', '--organization', 'acme');
      await sender.to(first);
      const newer = startService(env, next);
      await isReady(newer);
      await sender.to(first, newer);
      // The tables of the next version do not keep this one from starting again, ...
      await sender.to(newer);
      expect(await first.stop()).toBe(0);
      const back = startService(env);
      await isReady(back);
      await sender.to(back, newer);
      // ... nor from running alone, which is the way back.
      await sender.to(back);
      expect(await newer.stop()).toBe(0);
      await sender.to(back);
      await sender.stop();
      await isComplete(back, reader, sender);
    },
    TIMEOUT_MS,
  );
});

describe('Tables of the version after this one', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('are passed over with a line if they were extended, and refused with a sentence if they were cut', async () => {
    const env = { DATABASE_URL: database.url, PORT: '0' };
    const extended = { '0023-baseline': baseline, [EXTENDED]: extension };
    await migrate(database.pool, 'read', extended);
    const beside = startProgram('src/main.js', [], { env });
    running.push(beside);
    await beside.listening();
    expect(beside.said()).toContain(`extended by a newer version of this service (${EXTENDED})`);
    const cut: NumberedMigration = {
      up: () => Promise.resolve(),
      minimalVersion: { knows: EXTENDED, version: '9.8.0' },
    };
    await migrate(database.pool, 'read', { ...extended, '9999-cut': cut });
    const refused = startProgram('src/main.js', [], { env });
    expect(await refused.ended()).toBe(EXIT_CONFIG);
    expect(refused.said()).toMatch(/9999-cut removed what this version uses\. Start version 9\.8\.0 or later/);
    expect(await beside.stop()).toBe(0);
  });
});
