import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { openDatabase } from '../../src/postgres/embedded/embedded-postgres.js';
import { migrateReadModels } from '../../src/read-models/migrate.js';
import { queryOnce } from '../../test/support/query-once.js';
import { superuserOf } from '../../test/support/superuser.js';
import {
  clusterOf,
  removeFolder,
  serverOf,
  temporaryFolder,
} from '../../test/system/postgres/embedded/installation.js';

let folder: string;
let data: string;
let said: string[];
/** Where a server made its data and stopped; to be copied, which takes a tenth of the time. */
let made: string;
let madeIn: string;
beforeAll(async () => {
  madeIn = await temporaryFolder();
  made = join(madeIn, 'data');
  await (await openDatabase({ databaseUrl: undefined, dataDir: made }, () => {})).release();
});
afterAll(() => removeFolder(madeIn));

beforeEach(async () => {
  folder = await temporaryFolder();
  data = join(folder, 'data');
  said = [];
});
afterEach(() => removeFolder(folder));

const open = () => openDatabase({ databaseUrl: undefined, dataDir: data }, (line) => said.push(line));
/** As after a start and a stop. */
const make = (): void => void execFileSync('cp', ['-a', made, data]);
const modeOf = (...path: string[]): number => statSync(join(data, ...path)).mode & 0o777;

/** What others than the owner may do; the server's group may pass where we are root and the server is not. */
const openPaths = (): string[] => {
  const group = process.getuid?.() === 0 ? 0o010 : 0;
  const isOpen = (path: string, passable: boolean): boolean => (modeOf(path) & 0o077 & ~(passable ? group : 0)) !== 0;
  const files = ['postgres', 'lists'].flatMap((directory) =>
    readdirSync(join(data, directory), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => join(directory, name)),
  );
  return [
    ...['.', 'postgres'].filter((path) => isOpen(path, true)),
    ...['lists', ...files].filter((path) => isOpen(path, false)),
  ];
};

describe('DATA_DIR', () => {
  it('is its owner’s alone, with every file in it', async () => {
    mkdirSync(join(data, 'lists'), { recursive: true, mode: 0o700 });
    const database = await open();
    expect(openPaths()).toEqual([]);
    await database.release();
    expect(said.join()).not.toContain('rights');
  });

  it('is closed if it was made with other rights, and the server still starts', async () => {
    make();
    mkdirSync(join(data, 'lists'));
    writeFileSync(join(data, 'lists', 'a.json'), '{}');
    for (const path of ['.', 'postgres', 'lists']) chmodSync(join(data, path), 0o755);
    for (const path of ['postgres/place.json', 'postgres/postgres.log', 'lists/a.json'])
      chmodSync(join(data, path), 0o644);
    const database = await open();
    expect(openPaths()).toEqual([]);
    await database.release();
  });

  it('keeps its permissions if it contains other files, and says so; our own files there do not', async () => {
    make();
    chmodSync(data, 0o755);
    writeFileSync(join(data, 'notes.txt'), '');
    const database = await open();
    expect(modeOf('.')).toBe(0o755);
    expect(modeOf('postgres') & 0o067).toBe(0);
    expect(said.join()).toContain('contains other files, such as "notes.txt"');
    await database.release();
  });

  it('is closed if the database is elsewhere too, and left to the server if it has one', async () => {
    mkdirSync(data);
    chmodSync(data, 0o755);
    await openDatabase({ databaseUrl: 'postgres://elsewhere/x', dataDir: data }, () => {});
    expect(modeOf('.')).toBe(0o700);
    rmSync(data, { recursive: true });
    make();
    const mode = modeOf('.');
    await openDatabase({ databaseUrl: 'postgres://elsewhere/x', dataDir: data }, () => {});
    expect(modeOf('.')).toBe(mode);
  });
});

const WHO = `
  select current_user as role, rolsuper or rolcreaterole or rolcreatedb as mighty,
    (select count(*)::int from pg_class where relnamespace = to_regnamespace('read') and relkind = 'r') as tables,
    (select count(*)::int from pg_class where relnamespace = to_regnamespace('read') and relkind = 'r'
       and relowner <> current_user::regrole) as others
  from pg_roles where rolname = current_user`;

describe('The embedded PostgreSQL', () => {
  it('is used as a role that is not a superuser and owns what it makes', async () => {
    make();
    const database = await open();
    const pool = new Pool({ connectionString: database.url, max: 1 });
    await migrateReadModels(pool);
    await pool.end();
    expect(await queryOnce(database.url, WHO)).toEqual([
      { role: 'threat_protection', mighty: false, tables: expect.any(Number), others: 0 },
    ]);
    await expect(queryOnce(database.url, `copy (select 1) to program 'true'`)).rejects.toThrow('permission denied');
    await database.release();
  });

  it.each(['was stopped in order', 'is still running'])(
    'hands over to that role what a superuser made before it %s',
    async (end) => {
      make();
      const before = await open();
      const asSuperuser = new Pool({ connectionString: await superuserOf(data), max: 1 });
      asSuperuser.on('error', () => {});
      await migrateReadModels(asSuperuser);
      await asSuperuser.query('create schema log; create function log.f() returns int language sql as $$ select 1 $$');
      await asSuperuser.end();
      rmSync(join(data, 'postgres', 'role-password'));
      if (end === 'was stopped in order') await before.release();
      const database = await open();
      const [who] = await queryOnce<{ tables: number; others: number }>(database.url, WHO);
      expect(who).toMatchObject({ role: 'threat_protection', mighty: false, others: 0 });
      expect(who!.tables).toBeGreaterThan(10);
      await queryOnce(database.url, 'drop function log.f()');
      await queryOnce(database.url, 'alter table read.days add column more int');
      await database.release();
      await before.release();
      expect(await serverOf(data)).toBeUndefined();
    },
  );

  it('says why if the role cannot be created because the server does not start', async () => {
    make();
    rmSync(join(data, 'postgres', 'role-password'));
    const version = join(clusterOf(data), 'PG_VERSION');
    rmSync(version);
    await expect(open()).rejects.toThrow('is not a valid data directory');
    expect(dirname(version)).toBe(clusterOf(data));
  });
});
