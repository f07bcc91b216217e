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

/** Allows for a build and six starts of the whole service. */
const TIMEOUT_MS = 900_000;
const BATCH = 20;

const isInClone = hasReleaseBefore();
if (!isInClone)
  process.stderr.write(
    'The upgrade tests are skipped: the previous release is not in this clone. Run git fetch --unshallow to run them.\n',
  );
const describeUpgrade = isInClone || process.env['REQUIRE_ALL'] === '1' ? describe : describe.skip;

const running: Program[] = [];

/** Starts the API, the projector and their supervisor. */
const startService = (env: NodeJS.ProcessEnv, installed?: string): Program => {
  const service = startProgram('src/cli.js', ['start'], { env: { PORT: '0', ...env }, installed });
  running.push(service);
  return service;
};

const waitUntilReady = async (service: Program): Promise<void> => {
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

/** Sends batches of reports to the services in turn. Retries each batch until it is acknowledged. */
class Sender {
  acknowledged = 0;
  readonly unexpectedResponses: string[] = [];
  private readonly stopping = new AbortController();
  private readonly done: Promise<void>;

  constructor(
    private readonly key: string,
    private services: readonly Program[],
  ) {
    this.done = this.send();
  }

  /** Switches to these services, and waits until they have acknowledged 20 batches. */
  async switchTo(...services: Program[]): Promise<void> {
    this.services = services;
    const target = this.acknowledged + 20 * BATCH;
    await eventually('the services have acknowledged 20 batches', () => this.acknowledged >= target);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.done;
  }

  private async send(): Promise<void> {
    for (let batch = 0; !this.stopping.signal.aborted; batch += 1) {
      const body = batchOf(batch);
      for (let turn = batch; !(await this.isAcknowledged(body, turn)); turn += 1) await sleep(100);
      this.acknowledged += BATCH;
      await sleep(20);
    }
  }

  private async isAcknowledged(body: string, turn: number): Promise<boolean> {
    const url = this.services[turn % this.services.length]!.url()!;
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const response = await call(`${url}/v2/events`, { key: this.key, body, headers });
    if (response.status !== 200 && response.status !== 429)
      this.unexpectedResponses.push(`${response.status}: ${JSON.stringify(response.body)}`);
    return response.status === 200;
  }
}

describeUpgrade('A rolling upgrade', () => {
  let folder: string;
  let previousRelease: string;
  let database: TestDatabase;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
    previousRelease = await buildReleaseBefore(join(folder, 'before'));
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

  /**
   * Checks that all acknowledged reports are counted, that the lists are filled, and that a recount finds no
   * difference.
   */
  const checkComplete = async (
    service: Program,
    key: string,
    { acknowledged, unexpectedResponses: wrong }: Sender,
  ): Promise<void> => {
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
    'loses no event on the way from the release before, back to it, and forward again',
    async () => {
      const first = startService(env, previousRelease);
      await waitUntilReady(first);
      const sender = new Sender(await issueKey(previousRelease, '--scope', 'ingest'), [first]);
      const reader = await issueKey(previousRelease, '--scope', 'read', '--organization', 'acme');
      await sender.switchTo(first);
      const newer = startService(env);
      await waitUntilReady(newer);
      await sender.switchTo(first, newer);
      await sender.switchTo(newer);
      expect(await first.stop()).toBe(0);
      // The release before starts again on the tables of this version.
      const restarted = startService(env, previousRelease);
      await waitUntilReady(restarted);
      await sender.switchTo(restarted, newer);
      await sender.switchTo(restarted);
      expect(await newer.stop()).toBe(0);
      const rebuild = startProgram('src/cli.js', ['projections', 'rebuild'], { env, installed: previousRelease });
      expect(await rebuild.ended()).toBe(0);
      await sender.switchTo(restarted);
      const again = startService(env);
      await waitUntilReady(again);
      await sender.switchTo(restarted, again);
      await sender.switchTo(again);
      expect(await restarted.stop()).toBe(0);
      await sender.stop();
      await eventually('the read models are rebuilt', async () => {
        const { body } = await call(`${again.url()}/health/ready`);
        const { projections } = body.parts.readModels.detail as { projections: { isOutdated?: boolean }[] };
        return projections.every(({ isOutdated = false }) => !isOutdated);
      });
      await checkComplete(again, reader, sender);
    },
    TIMEOUT_MS,
  );

  it(
    'can be rolled back without losing events if the tables were only extended',
    async () => {
      const next = await makeNextVersion(folder);
      const first = startService(env);
      await waitUntilReady(first);
      const sender = new Sender(await issueKey(undefined, '--scope', 'ingest'), [first]);
      const reader = await issueKey(undefined, '--scope', 'read', '--organization', 'acme');
      await sender.switchTo(first);
      const newer = startService(env, next);
      await waitUntilReady(newer);
      await sender.switchTo(first, newer);
      // This version starts again on the tables of the next version, ...
      await sender.switchTo(newer);
      expect(await first.stop()).toBe(0);
      const restarted = startService(env);
      await waitUntilReady(restarted);
      await sender.switchTo(restarted, newer);
      // ... and runs without the next version, which completes the rollback.
      await sender.switchTo(restarted);
      expect(await newer.stop()).toBe(0);
      await sender.switchTo(restarted);
      await sender.stop();
      await checkComplete(restarted, reader, sender);
    },
    TIMEOUT_MS,
  );
});

describe('Tables of a later version', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  it('are accepted with a log line if they were extended, and refused with an error if columns were removed', async () => {
    const env = { DATABASE_URL: database.url, PORT: '0' };
    const extended = { '0023-baseline': baseline, [EXTENDED]: extension };
    await migrate(database.pool, 'read', extended);
    const accepted = startProgram('src/main.js', [], { env });
    running.push(accepted);
    await accepted.listening();
    expect(accepted.output()).toContain(`extended by a newer version of this service (${EXTENDED})`);
    const contraction: NumberedMigration = {
      up: () => Promise.resolve(),
      minimalVersion: { knows: EXTENDED, version: '9.8.0' },
    };
    await migrate(database.pool, 'read', { ...extended, '9999-contraction': contraction });
    const refused = startProgram('src/main.js', [], { env });
    expect(await refused.ended()).toBe(EXIT_CONFIG);
    expect(refused.output()).toMatch(
      /9999-contraction removed what this version uses\. Start version 9\.8\.0 or later/,
    );
    expect(await accepted.stop()).toBe(0);
  });
});
