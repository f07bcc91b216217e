import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { operatorCall } from '../../support/operator-call.js';
import { findPrograms, startCluster } from '../../support/postgres-programs.js';
import { type Program, startProgram } from '../../support/program.js';
import { queryOnce } from '../../support/query-once.js';
import { describeWith } from '../../support/tools.js';

/** Returns all shell blocks in a section of a page. */
const blocksOf = (page: string, heading: string): string[] => {
  const text = readFileSync(`docs/operations/${page}.md`, 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`))!;
  return [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!);
};
const [backup] = blocksOf('backup-and-restore', 'Backup');
const [restore, recount] = blocksOf('backup-and-restore', 'Restore');
const [upgrade] = blocksOf('upgrading', 'Upgrade');
const [afterRollback] = blocksOf('upgrading', 'Roll back');
const [erase] = blocksOf('backup-and-restore', 'Erase everything');

const COMMAND = 'threat-protection() { node dist/src/cli.js "$@"; }';
const programs = findPrograms();

describeWith(programs !== undefined, 'pg_dump of PostgreSQL 15 or later')('The pages for operators', () => {
  let folder: string;
  let cluster: Awaited<ReturnType<typeof startCluster>>;
  let service: Program;
  let env: NodeJS.ProcessEnv;

  /** Runs blocks in one shell, in a separate folder, with the command as it is in a clone. */
  const run = async (...blocks: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', [COMMAND, ...blocks].join('\n')], {
      cwd: folder,
      env,
    });
    return stdout;
  };
  /** Runs an operator's call in this process. */
  const operate = async (...words: string[]): Promise<string> => {
    const { code, out, err } = await operatorCall(env, ...words);
    expect({ code, err }).toMatchObject({ code: 0 });
    return out;
  };
  const keys = async (): Promise<number> => (JSON.parse(await operate('keys', 'list', '--json')) as unknown[]).length;
  const isBrandCounted = async (): Promise<boolean> => (await operate('brands', 'list')).includes('wallet');

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'threat-protection-operations-'));
    // If the tests run as root, the server runs as another user, who must be able to enter the folder.
    chmodSync(folder, 0o711);
    symlinkSync(resolve('dist'), join(folder, 'dist'));
    cluster = await startCluster(programs!, folder);
    const url = new URL(cluster.url);
    // Not a superuser, because the page does not require one.
    await queryOnce(cluster.url, 'create role threats login createdb');
    await queryOnce(cluster.url, 'create database threats owner threats');
    url.username = 'threats';
    url.pathname = '/threats';
    env = {
      ...process.env,
      PATH: `${programs}:${process.env['PATH']}`,
      PGHOST: url.hostname,
      PGPORT: url.port,
      PGUSER: 'threats',
      PGDATABASE: 'threats',
      DATABASE_URL: url.href,
      DATA_DIR: join(folder, 'data'),
      PORT: '0',
      LOG_FORMAT: 'json',
    };
    service = startProgram('src/cli.js', ['start'], { env });
    await service.listening();
    await operate('keys', 'issue', '--scope', 'ingest');
    await operate('brands', 'add', '--organization', 'acme', '--brand', 'wallet');
    await operate('flags', 'enable', '--organization', 'acme', '--flag', 'brands-metrics');
  });
  afterAll(async () => {
    await service?.stop();
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });

  it('describe a backup while the service runs, and a restore of exactly that state', async () => {
    await eventually('the brand is counted', isBrandCounted);
    expect(await run(backup!)).toContain('TABLE DATA log events');
    await operate('keys', 'issue', '--scope', 'ingest');
    const shown = await run(restore!, 'threat-protection --settings restored.settings brands list', 'echo $RESTORED');
    expect(shown).toMatch(/^0 differences$[^]*wallet/m);
    expect(await keys()).toBe(2);
    const [name] = /threats_\d{14}$/.exec(shown.trim())!;
    Object.assign(env, { PGDATABASE: name, DATABASE_URL: env['DATABASE_URL']!.replace(/threats$/, name) });
    expect(await keys()).toBe(1);
  });

  it('describe a restore that neither repeats itself nor verifies the wrong database', async () => {
    const { DATABASE_URL, ...others } = env;
    await expect(run(restore!)).rejects.toThrow('already exists');
    env = others;
    await expect(run(restore!)).rejects.toThrow('DATABASE_URL');
    env = { ...others, DATABASE_URL };
  });

  it('describe how to rebuild dropped read models of the restored database from its log', async () => {
    await service.stop();
    await run(recount!);
    expect(await isBrandCounted()).toBe(false);
    service = startProgram('src/cli.js', ['start'], { env });
    await service.listening();
    await eventually('the brand is counted', isBrandCounted);
  });

  it('describe how to prepare the tables before an upgrade, and to recount after a rollback', async () => {
    expect(await run(upgrade!)).toMatch(/^The tables are at this version$[^]*^metrics +position \d+/m);
    expect(await run(afterRollback!)).toMatch(/^metrics rebuilt$[^]*^0 differences$/m);
    await service.stop();
  });

  it('describe how to delete all data', async () => {
    // A killed rebuild leaves such a schema behind.
    await queryOnce(env['DATABASE_URL']!, 'create schema read_next_metrics create table counts ()');
    await run('mkdir -p "$DATA_DIR/lists"', erase!);
    const schemas = "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema|public)'";
    expect(await queryOnce(env['DATABASE_URL']!, schemas)).toEqual([]);
    expect(existsSync(env['DATA_DIR']!)).toBe(false);
  });
});
