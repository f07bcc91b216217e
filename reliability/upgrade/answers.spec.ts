import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call } from '../../test/support/call.js';
import { eventually } from '../../test/support/eventually.js';
import { operatorCall } from '../../test/support/operator-call.js';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { type Program, startProgram } from '../../test/support/program.js';
import { Random } from '../../test/support/random.js';
import { READS, TAXII_REQUESTS } from '../../test/support/requests.js';
import { cloudEvent, sentReport } from '../../test/support/upstream.js';
import { type Answer, askAll, differencesOf } from './compare-responses.js';
import { fillRandomly, type Stored } from './random-log.js';
import { randomRequests, type ReadRequest } from './random-requests.js';
import { buildReleaseBefore, hasReleaseBefore } from './release-before.js';

/** `UPGRADE_EVENTS=100000 UPGRADE_REQUESTS=10000` is the full size. */
const EVENTS = Number(process.env['UPGRADE_EVENTS'] ?? 3_000);
const REQUESTS = Number(process.env['UPGRADE_REQUESTS'] ?? 600);
const SEED = Number(process.env['UPGRADE_SEED'] ?? 1);
const TIMEOUT_MS = 10_000_000;
/** Each operation must respond this often with 200 and a content. */
const MIN_ANSWERED = 2;
/** These operations have no content after the retries, or only for some of the random ids. */
const MAY_BE_EMPTY = ['listParkedEvents', 'listWebhookAttempts'];

const AT = '2025-01-01T00:00:00.000Z';
/** Requests whose responses include the further report, so that an equal response would be an error of this spec. */
const OF_ONE_MORE: readonly ReadRequest[] = [
  { operation: 'getMetrics', path: '/v2/organization/metrics?endDate=2027-01-01', organization: 'acme' },
  { operation: 'listReports', path: `/v2/organization/reports?startDate=${AT}&endDate=${AT}`, organization: 'acme' },
];

const isInClone = hasReleaseBefore();
if (!isInClone)
  process.stderr.write(
    'The comparison with the previous release is skipped: it is not in this clone. Run git fetch --unshallow to run it.\n',
  );
const describeUpgrade = isInClone || process.env['REQUIRE_ALL'] === '1' ? describe : describe.skip;

const isEmpty = (body: string): boolean => /^\{"(items|objects|versions|attempts)":\[\]/.test(body) || body === '[]';

/** Returns how many responses of each operation are 200 with a content. */
const answeredOf = (answers: readonly Answer[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { request, status, body } of answers)
    counts.set(request.operation, (counts.get(request.operation) ?? 0) + Number(status === 200 && !isEmpty(body)));
  return counts;
};

describeUpgrade('The responses to random requests after an upgrade from the previous release', () => {
  let folder: string;
  let previousRelease: string;
  let database: TestDatabase;
  let env: NodeJS.ProcessEnv;
  let running: Program;
  let url: string;
  let stored: Stored;
  let requests: ReadRequest[];
  let before: Answer[][];
  const keys = new Map<string | undefined, string>();
  const seconds: Record<string, number> = {};

  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const begin = performance.now();
    const result = await work();
    seconds[name] = Math.round((performance.now() - begin) / 1_000);
    process.stderr.write(`${name}: ${seconds[name]} s\n`);
    return result;
  };

  /** Starts a version, and waits until all its tables are full. */
  const start = async (installed?: string): Promise<void> => {
    running = startProgram('src/cli.js', ['start'], { env: { PORT: '0', ...env }, installed });
    url = await running.listening();
    await eventually(
      'the read models are complete',
      async () => {
        const { status, body } = await call(`${url}/health/ready`);
        if (status !== 200) return false;
        const { projections } = body.parts.readModels.detail as {
          projections: { isOutdated?: boolean; lag?: number }[];
        };
        return projections.every(({ isOutdated = false, lag = 0 }) => !isOutdated && lag === 0);
      },
      TIMEOUT_MS,
    );
  };

  const run = async (...words: string[]): Promise<string> => {
    const program = startProgram('src/cli.js', words, { env, installed: previousRelease });
    const code = await program.ended();
    if (code !== 0) throw new Error(`${words.join(' ')} exited with ${code}: ${program.output()}`);
    return program.out();
  };

  /** Returns the ids of TAXII objects of an organization. */
  const indicatorsOf = async (organization: string): Promise<string[]> => {
    const path = '/taxii2/api/collections/threats/manifest?limit=1000';
    const headers = { accept: 'application/taxii+json;version=2.1' };
    const { body } = await call(`${url}${path}`, { key: keys.get(organization), headers });
    return (body.objects as { id: string }[]).map(({ id }) => id);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'answers-'));
    previousRelease = await timed('build', () => buildReleaseBefore(join(folder, 'before')));
    database = await createDatabase({ migrated: false });
    const keyFile = join(folder, 'webhook-master-key');
    await writeFile(keyFile, randomBytes(32).toString('base64'), { mode: 0o600 });
    env = {
      DATABASE_URL: database.url,
      DATA_DIR: join(folder, 'data'),
      RATE_LIMIT_PER_MINUTE: '0',
      WEBHOOK_MASTER_KEY_FILE: keyFile,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    };
    await start(previousRelease);
    for (const organization of ['acme', 'acme-2', 'b']) {
      const words = ['--organization', organization, '--scope', 'read', '--scope', 'write'];
      keys.set(organization, (await run('keys', 'issue', ...words)).trim());
    }
    keys.set(undefined, (await run('keys', 'issue', '--scope', 'ingest')).trim());
    for (const key of keys.values())
      await eventually('the key is known', async () => (await call(`${url}/v2/organization`, { key })).status !== 401);
    const ingestKey = keys.get(undefined)!;
    const installation = { url, pool: database.pool, ingestKey, keys: keys as Map<string, string>, run };
    stored = await timed('events', () => fillRandomly(installation, new Random(SEED), EVENTS));
    keys.delete('b');
    // Counts of received events are written when the process stops.
    await running.stop();
    await start(previousRelease);
    const indicators = [...(await indicatorsOf('acme')), ...(await indicatorsOf('acme-2'))];
    requests = [...OF_ONE_MORE, ...randomRequests(new Random(SEED), stored, indicators, REQUESTS)];
    before = await timed('requests before', () => askAll(url, keys, requests));
    await running.stop();
  }, TIMEOUT_MS);

  afterAll(async () => {
    await running?.stop();
    await database?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  it('ask every operation that reads, and each responds with a content', () => {
    const answered = answeredOf(before.flat());
    process.stderr.write(
      `${stored.accepted} events, ${before.flat().length} pages: ${JSON.stringify([...answered])}\n`,
    );
    expect(new Set(answered.keys())).toEqual(new Set([...READS, ...Object.keys(TAXII_REQUESTS)]));
    for (const [operation, count] of answered)
      if (!MAY_BE_EMPTY.includes(operation))
        expect({ operation, count: Math.min(count, MIN_ANSWERED) }).toEqual({ operation, count: MIN_ANSWERED });
  });

  it(
    'are the same in this version, after a rebuild, and after a rollback, and differ after a further event',
    async () => {
      await timed('start of this version', () => start());
      const upgraded = await timed('requests after the upgrade', () => askAll(url, keys, requests));
      expect(differencesOf(before, upgraded)).toEqual([]);

      const rebuilt = await timed('rebuild', () => operatorCall(env, 'projections', 'rebuild'));
      expect(rebuilt).toMatchObject({ code: 0 });
      await running.stop();
      await start();
      expect(differencesOf(before, await askAll(url, keys, requests))).toEqual([]);
      const verified = await timed('verify', () => operatorCall(env, 'projections', 'verify'));
      expect(verified.out).toContain('0 differences');
      await running.stop();

      await timed('start of the release before', () => start(previousRelease));
      expect(differencesOf(before, await askAll(url, keys, requests))).toEqual([]);

      const report = sentReport('one-more', { createdAt: AT, updatedAt: AT });
      const headers = { 'content-type': 'application/cloudevents+json' };
      const after = await call(`${url}/v2/events`, { key: keys.get(undefined), headers, json: cloudEvent(report) });
      expect(after.body).toMatchObject({ accepted: 1 });
      await eventually('the report is listed', async () => {
        const path = `${url}/v2/organization/reports/one-more`;
        return (await call(path, { key: keys.get('acme'), after })).status === 200;
      });
      const changed = differencesOf(before, await askAll(url, keys, requests));
      for (const { operation, path } of OF_ONE_MORE)
        expect(changed).toContainEqual(expect.stringContaining(`${operation} acme ${path} `));
    },
    TIMEOUT_MS,
  );
});
