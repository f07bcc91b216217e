import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chmodSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '../../../../src/postgres/embedded/embedded-postgres.js';
import { serverOwner } from '../../../../src/postgres/embedded/cluster-layout.js';
import { eventually } from '../../../support/eventually.js';
import { queryOnce } from '../../../support/query-once.js';
import {
  clusterOf,
  install,
  type Installation,
  removeFolder,
  serverOf,
  temporaryFolder,
} from '../../../support/installation.js';

const open = (dataDir: string) => openDatabase({ databaseUrl: undefined, dataDir }, () => {});

const starts = (dataDir: string): number =>
  readFileSync(join(dataDir, 'postgres', 'postgres.log'), 'utf8').split('starting PostgreSQL').length - 1;

describe('The embedded PostgreSQL', () => {
  let folder: string;
  let dataDir: string;
  let installation: Installation;

  beforeAll(async () => {
    folder = await temporaryFolder();
    dataDir = join(folder, 'data');
    installation = install(join(folder, 'installed'));
  });

  afterAll(() => removeFolder(folder));

  it('is not started if a database is given', async () => {
    const database = await openDatabase({ databaseUrl: 'postgres://elsewhere/x', dataDir }, () => {});
    expect(database.url).toBe('postgres://elsewhere/x');
    await database.release();
  });

  it('is reached whatever variables of libpq are set', async () => {
    const variables = { PGPORT: '9999', PGSSLMODE: 'require', PGOPTIONS: '-c default_transaction_read_only=on' };
    Object.assign(process.env, variables, { PGHOST: 'nowhere', PGUSER: 'nobody', PGSSLNEGOTIATION: 'direct' });
    const database = await open(dataDir);
    expect(await queryOnce(database.url, 'show transaction_read_only')).toEqual([{ transaction_read_only: 'off' }]);
    await database.release();
  });

  it('starts one server if two processes start it concurrently', async () => {
    const before = starts(dataDir);
    const [one, other] = await Promise.all([installation.use(dataDir), installation.use(dataDir)]);
    expect(one.url).toBe(other.url);
    expect(await queryOnce(other.url, 'select 1 as n')).toEqual([{ n: 1 }]);
    expect(starts(dataDir)).toBe(before + 1);
    await Promise.all([one.leave(), other.leave()]);
    expect(await serverOf(dataDir)).toBeUndefined();
  });

  it('stops when its last user leaves, and not before', async () => {
    const first = await open(dataDir);
    const second = await installation.use(dataDir);
    await first.release();
    expect(await queryOnce(second.url, 'select 1 as n')).toEqual([{ n: 1 }]);
    await second.leave();
    expect(await serverOf(dataDir)).toBeUndefined();
  });

  it('accepts a process that starts while the last user leaves', async () => {
    for (let round = 0; round < 2; round += 1) {
      const first = await open(dataDir);
      const [, second] = await Promise.all([first.release(), open(dataDir)]);
      expect(await queryOnce(second.url, 'select 1 as n')).toEqual([{ n: 1 }]);
      await second.release();
      expect(await serverOf(dataDir)).toBeUndefined();
    }
  });

  it('stops when its last user ends by an uncaught error', async () => {
    const user = await installation.use(dataDir);
    expect(await serverOf(dataDir)).toBeDefined();
    await user.fail();
    await eventually('the server is stopped', async () => (await serverOf(dataDir)) === undefined);
  });

  it('is reused after its owner was killed, which no longer counts as a user', async () => {
    const owner = await installation.use(dataDir);
    const server = await serverOf(dataDir);
    await owner.kill();
    const next = await open(dataDir);
    expect(await serverOf(dataDir)).toBe(server);
    expect(next.url).toBe(owner.url);
    await next.release();
    expect(await serverOf(dataDir)).toBeUndefined();
  });

  it('keeps acknowledged data when it and its owner are killed', async () => {
    const owner = await installation.use(dataDir);
    await queryOnce(owner.url, 'create schema ours; create table ours.kept as select 42 as n');
    process.kill((await serverOf(dataDir))!, 'SIGKILL');
    await owner.kill();
    const next = await open(dataDir);
    expect(await queryOnce(next.url, 'select n from ours.kept')).toEqual([{ n: 42 }]);
    await next.release();
  });

  it('is restarted under the same URL when it is killed while it is used', async () => {
    const database = await open(dataDir);
    const server = await serverOf(dataDir);
    process.kill(server!, 'SIGKILL');
    await eventually('the database answers again', () =>
      queryOnce(database.url, 'select 1').then(
        () => true,
        () => false,
      ),
    );
    expect(await serverOf(dataDir)).not.toBe(server);
    await database.release();
    expect(await serverOf(dataDir)).toBeUndefined();
  });

  it('starts although its pid file names a running process of another program', async () => {
    const owner = await installation.use(dataDir);
    const cluster = clusterOf(dataDir);
    const server = await serverOf(dataDir);
    process.kill(server!, 'SIGKILL');
    await owner.kill();
    const stranger = spawn('sleep', ['60'], { ...serverOwner(cluster), stdio: 'ignore' });
    try {
      const pidFile = join(cluster, 'postmaster.pid');
      writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(stranger.pid)));
      const database = await open(dataDir);
      expect(await queryOnce(database.url, 'select 1 as n')).toEqual([{ n: 1 }]);
      await database.release();
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill();
    }
  });

  describe('in use', () => {
    let database: Database;

    beforeAll(async () => {
      // Opening must take these rights away again.
      for (const path of ['.', 'postgres']) chmodSync(join(dataDir, path), 0o777);
      database = await open(dataDir);
    });
    afterAll(() => database.release());

    it('uses fsync, checksums and the collation C', async () => {
      expect(
        await queryOnce(
          database.url,
          `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
                current_setting('full_page_writes') as full_page_writes,
                current_setting('data_checksums') as data_checksums,
                pg_encoding_to_char(encoding) as encoding, datcollate, datlocprovider, 'Z' < 'a' as by_code_point
           from pg_database where datname = 'template1'`,
        ),
      ).toEqual([
        {
          fsync: 'on',
          synchronous_commit: 'on',
          full_page_writes: 'on',
          data_checksums: 'on',
          encoding: 'UTF8',
          datcollate: 'C',
          datlocprovider: 'c',
          by_code_point: true,
        },
      ]);
    });

    it('is accessible only to its operating system user, and only with the password', async () => {
      // If the tests run as root, the server runs as another user, whose group may enter the folders.
      for (const path of ['.', 'postgres']) expect(statSync(join(dataDir, path)).mode & 0o767).toBe(0o700);
      const url = new URL(database.url);
      expect(statSync(url.searchParams.get('host')!).mode & 0o777).toBe(0o700);
      expect(statSync(join(dataDir, 'postgres', 'password')).mode & 0o777).toBe(0o600);
      url.password = 'guessed';
      await expect(queryOnce(url.href, 'select 1')).rejects.toThrow('password authentication failed');
    });

    it('runs as an ordinary user, and the service uses a role that is not a superuser', async () => {
      expect(statSync(join(clusterOf(dataDir), 'postmaster.pid')).uid).not.toBe(0);
      await expect(queryOnce(database.url, `copy (select 1) to program 'true'`)).rejects.toThrow('permission denied');
    });
  });

  it('runs beside another instance, and listens on loopback if configured', async () => {
    const other = join(folder, 'other');
    const [one, two] = await Promise.all([
      open(dataDir),
      openDatabase({ databaseUrl: undefined, dataDir: other }, () => {}, 'loopback'),
    ]);
    expect(new URL(two.url).hostname).toBe('127.0.0.1');
    expect(await queryOnce(two.url, `select count(*)::int as n from pg_class where relname = 'kept'`)).toEqual([
      { n: 0 },
    ]);
    await two.release();
    expect(await queryOnce(one.url, 'select n from ours.kept')).toEqual([{ n: 42 }]);
    await one.release();
  });

  it('runs beside a copy of its data directory, such as one on which an upgrade is tried', async () => {
    const copy = join(folder, 'copy');
    execFileSync('cp', ['-a', dataDir, copy]);
    const [one, other] = await Promise.all([open(dataDir), open(copy)]);
    expect(other.url).not.toBe(one.url);
    expect(await queryOnce(other.url, 'update ours.kept set n = 43 returning n')).toEqual([{ n: 43 }]);
    expect(await queryOnce(one.url, 'select n from ours.kept')).toEqual([{ n: 42 }]);
    await Promise.all([one.release(), other.release()]);
  });

  it('rotates a log file that is too large when it starts', async () => {
    const log = join(dataDir, 'postgres', 'postgres.log');
    truncateSync(log, 5 * 1024 * 1024);
    await (await open(dataDir)).release();
    expect(statSync(`${log}.1`).size).toBe(5 * 1024 * 1024);
    expect(starts(dataDir)).toBe(1);
  });

  it('reports why it does not start, and where its log is', async () => {
    const settings = join(clusterOf(dataDir), 'postgresql.conf');
    const good = readFileSync(settings);
    appendFileSync(settings, 'no_such_setting = 1\n');
    await expect(open(dataDir)).rejects.toThrow(/postgres\.log[^]*no_such_setting/);
    writeFileSync(settings, good);
    await (await open(dataDir)).release();
  });

  it('does not create an empty database in place of a missing one', async () => {
    const cluster = clusterOf(dataDir);
    renameSync(cluster, `${cluster}.away`);
    await expect(open(dataDir)).rejects.toThrow('is missing');
    renameSync(`${cluster}.away`, cluster);
    const database = await open(dataDir);
    expect(await queryOnce(database.url, 'select n from ours.kept')).toEqual([{ n: 42 }]);
    await database.release();
  });
});
