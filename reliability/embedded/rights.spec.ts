import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Pool } from 'pg';
import { openDatabase } from '../../src/postgres/embedded/embedded-postgres.js';
import { migrateReadModels } from '../../src/read-models/prepare-tables.js';
import { queryOnce } from '../../test/support/query-once.js';
import { superuserOf } from '../../test/support/superuser.js';
import { clusterOf, removeFolder, serverOf, temporaryFolder } from '../../test/support/installation.js';

let folder: string;
let data: string;
let messages: string[];
/** A data directory of a stopped server. Copying it takes a tenth of the time of creating one. */
let template: string;
let templateFolder: string;
beforeAll(async () => {
  templateFolder = await temporaryFolder();
  template = join(templateFolder, 'data');
  await (await openDatabase({ databaseUrl: undefined, dataDir: template }, () => {})).release();
});
afterAll(() => removeFolder(templateFolder));

beforeEach(async () => {
  folder = await temporaryFolder();
  data = join(folder, 'data');
  messages = [];
});
afterEach(() => removeFolder(folder));

const open = () => openDatabase({ databaseUrl: undefined, dataDir: data }, (line) => messages.push(line));
/** Creates the data directory as a server would leave it after a start and a stop. */
const copyTemplate = (): void => void execFileSync('cp', ['-a', template, data]);
const modeOf = (...path: string[]): number => statSync(join(data, ...path)).mode & 0o777;

/**
 * Returns the paths that users other than the owner can access. If the tests run as root, the server runs as another
 * user, whose group may enter the directories on the way to the cluster.
 */
const openPaths = (): string[] => {
  const group = process.getuid?.() === 0 ? 0o010 : 0;
  const isOpen = (path: string, mayBePassed: boolean): boolean =>
    (modeOf(path) & 0o077 & ~(mayBePassed ? group : 0)) !== 0;
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
  it('is accessible only to its owner, as are all its files', async () => {
    mkdirSync(join(data, 'lists'), { recursive: true, mode: 0o700 });
    const database = await open();
    expect(openPaths()).toEqual([]);
    await database.release();
    expect(messages.join()).not.toContain('rights');
  });

  it('gets restrictive permissions if it had others, and the server still starts', async () => {
    copyTemplate();
    mkdirSync(join(data, 'lists'));
    writeFileSync(join(data, 'lists', 'a.json'), '{}');
    for (const path of ['.', 'postgres', 'lists']) chmodSync(join(data, path), 0o755);
    for (const path of ['postgres/place.json', 'postgres/postgres.log', 'lists/a.json'])
      chmodSync(join(data, path), 0o644);
    const database = await open();
    expect(openPaths()).toEqual([]);
    await database.release();
  });

  it('keeps its permissions and logs a warning if it contains other files; its folder postgres is still restricted', async () => {
    copyTemplate();
    chmodSync(data, 0o755);
    writeFileSync(join(data, 'notes.txt'), '');
    const database = await open();
    expect(modeOf('.')).toBe(0o755);
    expect(modeOf('postgres') & 0o067).toBe(0);
    expect(messages.join()).toContain('contains other files, such as "notes.txt"');
    await database.release();
  });

  it('gets restrictive permissions with an external database too, unless it contains an embedded cluster', async () => {
    mkdirSync(data);
    chmodSync(data, 0o755);
    await openDatabase({ databaseUrl: 'postgres://elsewhere/x', dataDir: data }, () => {});
    expect(modeOf('.')).toBe(0o700);
    rmSync(data, { recursive: true });
    copyTemplate();
    const mode = modeOf('.');
    await openDatabase({ databaseUrl: 'postgres://elsewhere/x', dataDir: data }, () => {});
    expect(modeOf('.')).toBe(mode);
  });
});

const ROLE_AND_TABLES = `
  select current_user as role, rolsuper or rolcreaterole or rolcreatedb as "isPrivileged",
    (select count(*)::int from pg_class where relnamespace = to_regnamespace('read') and relkind = 'r') as tables,
    (select count(*)::int from pg_class where relnamespace = to_regnamespace('read') and relkind = 'r'
       and relowner <> current_user::regrole) as "ownedByOthers"
  from pg_roles where rolname = current_user`;

describe('The embedded PostgreSQL', () => {
  it('is used with a role that has no special privileges and owns the tables that it creates', async () => {
    copyTemplate();
    const database = await open();
    const pool = new Pool({ connectionString: database.url, max: 1 });
    await migrateReadModels(pool);
    await pool.end();
    expect(await queryOnce(database.url, ROLE_AND_TABLES)).toEqual([
      { role: 'threat_protection', isPrivileged: false, tables: expect.any(Number), ownedByOthers: 0 },
    ]);
    await expect(queryOnce(database.url, `copy (select 1) to program 'true'`)).rejects.toThrow('permission denied');
    await database.release();
  });

  it.each(['was stopped gracefully', 'is still running'])(
    'gives objects that a superuser created to the role, if the server %s',
    async (end) => {
      copyTemplate();
      const before = await open();
      const asSuperuser = new Pool({ connectionString: await superuserOf(data), max: 1 });
      asSuperuser.on('error', () => {});
      await migrateReadModels(asSuperuser);
      await asSuperuser.query('create schema log; create function log.f() returns int language sql as $$ select 1 $$');
      await asSuperuser.end();
      rmSync(join(data, 'postgres', 'role-password'));
      if (end === 'was stopped gracefully') await before.release();
      const database = await open();
      const [roleAndTables] = await queryOnce<{ tables: number; ownedByOthers: number }>(database.url, ROLE_AND_TABLES);
      expect(roleAndTables).toMatchObject({ role: 'threat_protection', isPrivileged: false, ownedByOthers: 0 });
      expect(roleAndTables!.tables).toBeGreaterThan(10);
      await queryOnce(database.url, 'drop function log.f()');
      await queryOnce(database.url, 'alter table read.days add column more int');
      await database.release();
      await before.release();
      expect(await serverOf(data)).toBeUndefined();
    },
  );

  it('reports why the server does not start if the role is missing', async () => {
    copyTemplate();
    rmSync(join(data, 'postgres', 'role-password'));
    const version = join(clusterOf(data), 'PG_VERSION');
    rmSync(version);
    await expect(open()).rejects.toThrow('is not a valid data directory');
    expect(dirname(version)).toBe(clusterOf(data));
  });
});
