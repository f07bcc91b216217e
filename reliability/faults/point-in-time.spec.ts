import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { serverOwner } from '../../src/postgres/embedded/cluster-layout.js';
import { call } from '../../test/support/call.js';
import { eventually } from '../../test/support/eventually.js';
import { type Cluster, findPrograms, launchCluster, startCluster } from '../../test/support/postgres-programs.js';
import { type Program, startProgram } from '../../test/support/program.js';
import { describeWith } from '../../test/support/tools.js';
import { cloudEvent, type Sent, sentThreat } from '../../test/support/upstream.js';

const [section] = readFileSync('docs/operations/backup-and-restore.md', 'utf8').match(
  /^## Restore to a point in time\n[^]*?(?=^## )/m,
)!;
const [archive, base, restore] = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!);

const threats = (prefix: string): Sent[] =>
  Array.from({ length: 20 }, (_, n) => sentThreat(`${prefix}-${n}`, {}, `${prefix}-${n}`));

const programs = findPrograms();

describeWith(programs !== undefined, 'PostgreSQL 15 or later')('A restore to a point in time', () => {
  let folder: string;
  let cluster: Cluster;
  let service: Program | undefined;

  /** Runs a shell block as the owner of the server. */
  const run = async (block: string, more: NodeJS.ProcessEnv = {}): Promise<void> => {
    const { hostname, port } = new URL(cluster.url);
    await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', block], {
      ...serverOwner(cluster.folder),
      cwd: '/',
      env: {
        PATH: `${programs}:${process.env['PATH']}`,
        PGHOST: hostname,
        PGPORT: port,
        PGUSER: 'postgres',
        ARCHIVE: join(folder, 'archive'),
        BASE: join(folder, 'owned/base'),
        RESTORED: join(folder, 'owned/restored'),
        ...more,
      },
    });
  };
  const query = async <Row extends object>(text: string): Promise<Row> => {
    const client = new Client({ connectionString: cluster.url });
    await client.connect();
    try {
      return (await client.query<Row>(text)).rows[0]!;
    } finally {
      await client.end();
    }
  };
  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    DATABASE_URL: cluster.url,
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
  });
  const operator = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, ['dist/src/cli.js', ...words], { env: environment() })).stdout;
  const start = async (): Promise<string> => {
    service = startProgram('src/cli.js', ['start'], { env: environment() });
    return service.listening();
  };
  const send = async (url: string, key: string, events: readonly Sent[]): Promise<unknown> => {
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const { status, body } = await call(`${url}/v2/events`, {
      key,
      headers,
      body: JSON.stringify(events.map((event) => cloudEvent(event))),
    });
    expect(status).toBe(200);
    return body;
  };
  const count = async (url: string, key: string): Promise<number> =>
    (await call(`${url}/v2/organization/metrics?startDate=2000-01-01`, { key })).body.metrics.newThreats;
  const keyOf = (output: string): string => /\btp_\S+/.exec(output)![0];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'threat-protection-point-in-time-'));
    chmodSync(folder, 0o711);
    cluster = await startCluster(programs!, folder);
    for (const name of ['archive', 'owned']) {
      mkdirSync(join(folder, name));
      const owner = serverOwner(cluster.folder);
      if (owner) chownSync(join(folder, name), owner.uid, owner.gid);
    }
  });
  afterAll(async () => {
    await service?.stop('SIGKILL');
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });

  it('contains and counts the events acknowledged before that point, and none acknowledged later', async () => {
    await run(archive!);
    await cluster.stop();
    cluster = await launchCluster(programs!, cluster.folder);
    let url = await start();
    const sender = keyOf(await operator('keys', 'issue', '--scope', 'ingest'));
    const reader = keyOf(await operator('keys', 'issue', '--scope', 'read', '--organization', 'acme'));
    await eventually(
      'the keys are known',
      async () => (await call(`${url}/v2/organization/metrics?startDate=2000-01-01`, { key: reader })).status === 200,
    );
    await send(url, sender, threats('before'));
    await run(base!);
    await send(url, sender, threats('since'));
    await eventually('both batches are counted', async () => (await count(url, reader)) === 40);
    const { now } = await query<{ now: string }>('select now()::text as now');
    await sleep(1_000);
    await send(url, sender, threats('wrong'));
    const { file } = await query<{ file: string }>('select pg_walfile_name(pg_current_wal_lsn()) as file');
    await query('select pg_switch_wal()');
    await eventually('the last WAL file is archived', () => readdirSync(join(folder, 'archive')).includes(file));
    await service!.stop();
    await cluster.stop();

    await run(restore!, { WHEN: now });
    cluster = await launchCluster(programs!, join(folder, 'owned/restored'));
    await eventually(
      'the server accepts writes',
      async () => !(await query<{ is: boolean }>('select pg_is_in_recovery() as is')).is,
    );
    url = await start();
    await eventually(
      'the keys are known',
      async () => (await call(`${url}/v2/organization/metrics?startDate=2000-01-01`, { key: reader })).status === 200,
    );
    expect(await count(url, reader)).toBe(40);
    expect(await operator('projections', 'verify')).toMatch(/^0 differences$/m);
    expect(await send(url, sender, [...threats('since'), ...threats('right')])).toMatchObject({
      accepted: 20,
      duplicates: 20,
    });
    await eventually('the events sent after the restore are counted', async () => (await count(url, reader)) === 60);
  });
});
