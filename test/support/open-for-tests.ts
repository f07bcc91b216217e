import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import type { Projection } from '../../projections/engine/projection.js';
import { startApp, type TestApp } from './app.js';
import { Logs } from './logs.js';
import { createDatabase, type TestDatabase } from './postgres.js';
import { type Projecting, startProjecting } from './projecting.js';

type Hooks = readonly [before: typeof beforeAll, after: typeof afterAll];
const ALL: Hooks = [beforeAll, afterAll];
const EACH: Hooks = [beforeEach, afterEach];

/** Jest runs the hooks after tests in the order of their definition, but what was opened last must be closed first. */
const closers: (() => Promise<void>)[] = [];

/** Returns a stand-in for what is open now. Hooks that follow may use it. */
const opened = <T extends object>(
  [before, after]: Hooks,
  open: () => T | Promise<T>,
  close: (open: T) => Promise<void>,
): T => {
  let current: T | undefined;
  before(async () => {
    const now = await open();
    current = now;
    closers.push(() => close(now));
  });
  after(() => closers.pop()?.());
  return new Proxy({} as T, { get: (_, name): unknown => Reflect.get(current!, name) });
};

const database = (hooks: Hooks, options?: Parameters<typeof createDatabase>[0]): TestDatabase =>
  opened(
    hooks,
    () => createDatabase(options),
    (open) => open.drop(),
  );

/** A database that all tests of the file or of the `describe` share. */
export const sharedDatabase = (options?: Parameters<typeof createDatabase>[0]): TestDatabase => database(ALL, options);

/** Deletes the rows of all tables except the log, apart from the names of the migrations, which insert no other rows. */
const DELETE_ROWS = `
  do $$
  declare one text;
  begin
    for one in
      select format('%I.%I', schemaname, tablename) from pg_tables
      where schemaname in ('read', 'service') and tablename not in ('migrations', 'later_migrations')
    loop
      execute 'delete from ' || one;
    end loop;
  end $$`;

/**
 * A database that all tests of the file or of the `describe` share, and that has no rows before each test. For specs whose
 * log is in memory. Faster than `newDatabase`.
 */
export const emptiedDatabase = (): TestDatabase => {
  const shared = sharedDatabase();
  beforeEach(async () => void (await shared.pool.query(DELETE_ROWS)));
  return shared;
};

/** A new database for each test. */
export const newDatabase = (options?: Parameters<typeof createDatabase>[0]): TestDatabase => database(EACH, options);

/** The logs of each test. */
export const newLogs = (): Logs =>
  opened(
    EACH,
    () => new Logs(),
    (logs) => logs.end(),
  );

/** The API, by default on a database of its own, which all tests of the file or of the `describe` share. */
export const sharedApp = ({
  env,
  database: given,
}: { env?: NodeJS.ProcessEnv; database?: TestDatabase } = {}): TestApp =>
  opened(
    ALL,
    () => startApp({ env, databaseUrl: given?.url }),
    (app) => app.close(),
  );

/** A projector of the API that runs during all tests of the file. */
export const sharedProjecting = (app: TestApp, projections?: readonly Projection[]): Projecting =>
  opened(
    ALL,
    () => startProjecting(app.log, app.pool, projections),
    (projecting) => projecting.stop(),
  );
