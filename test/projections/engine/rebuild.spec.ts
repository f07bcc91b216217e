import type { PoolClient } from 'pg';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { assetGroups } from '../../../projections/asset-groups.js';
import { assetStatuses } from '../../../projections/asset-statuses.js';
import type { Source } from '../../../projections/engine/apply-log.js';
import { type Projection, versionOf } from '../../../projections/engine/projection.js';
import { rebuild, rebuildOutdated } from '../../../projections/engine/rebuild.js';
import { verify } from '../../../projections/engine/verify.js';
import { register } from '../../../projections/register/projection.js';
import { PROJECTIONS as ALL } from '../../../projections/registry.js';
import { Backoff } from '../../../src/flow/time.js';
import { createPool } from '../../../src/postgres/pool.js';
import { EXPORT_APPLICATION_NAME } from '../../../src/read-models/pools.js';
import { Unavailable } from '../../../src/errors.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { eventually } from '../../support/eventually.js';
import { history } from '../../support/histories.js';
import { interceptQueries } from '../../support/query-interceptor.js';
import { newDatabase } from '../../support/open-for-tests.js';
import { queryOnce } from '../../support/query-once.js';
import { projectToHead } from '../../support/projecting.js';
import { Random } from '../../support/random.js';
import { recordedInOrder, sent } from '../../support/upstream.js';

const AT = '2026-03-01T00:00:00Z';
const LINK = 'https://de.linkedin.com/in/Evil';
const PROJECTIONS = [assetStatuses, assetGroups];

describe('Read models of an earlier version', () => {
  const database = newDatabase();
  let log: InMemoryEventLog;
  let logged: string[];

  const run = (stop = new AbortController().signal): Promise<void> => {
    const collect = (line: string): number => logged.push(line);
    return rebuildOutdated(
      { pool: database.pool, log },
      PROJECTIONS,
      { say: collect, warn: collect },
      stop,
      new Backoff(10, 50),
    );
  };

  const keys = async (): Promise<string[]> =>
    (await database.pool.query<{ asset: string }>('select asset from read.asset_statuses')).rows.map(
      ({ asset }) => asset,
    );

  beforeEach(async () => {
    logged = [];
    const asset = { type: 'LINKEDIN', content: LINK };
    log = new InMemoryEventLog(
      recordedInOrder([
        sent('AssetStatusChanged', { changeId: '1', asset, status: 'BLOCKED', brandReviews: [], createdAt: AT }),
        sent('AssetGrouped', { organization: 'acme', groupId: 1, asset, updatedAt: AT }),
      ]),
    );
    await projectToHead(log, database.pool, PROJECTIONS);
    // The rows are as a version with other asset keys left them.
    await database.pool.query(`
      update read.asset_statuses set asset_hash = md5('old'), asset = 'LINKEDIN:old', content = null;
      update read.asset_status_entries set asset_hash = md5('old'), asset = 'LINKEDIN:old', content = null;
      update read.grouped_assets set asset = md5('old');
      update read.checkpoints set version = 1`);
  });

  it('are rebuilt once with the current asset keys, with one read of the log', async () => {
    const readAll = log.readAll.bind(log);
    let pages = 0;
    log.readAll = (...given) => ((pages += 1), readAll(...given));
    await run();
    expect(pages).toBe(1);
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
    expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
    expect(logged).toHaveLength(2 * PROJECTIONS.length);
    await run();
    expect(logged).toHaveLength(2 * PROJECTIONS.length);
  });

  const failures = (): number => logged.filter((line) => line.startsWith('A read model could not be rebuilt')).length;

  it('are rebuilt without a restart after the database has refused connections in the middle of a rebuild', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const onServer = (sql: string): Promise<object[]> => queryOnce(process.env['TEST_DATABASE_URL']!, sql);
    const readAll = log.readAll.bind(log);
    let reads = 0;
    log.readAll = async (...given) => {
      if ((reads += 1) === 1) {
        await onServer(`alter database ${name} allow_connections false`);
        await onServer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
      }
      return readAll(...given);
    };
    const running = run();
    await eventually('two attempts have failed', () => failures() >= 2);
    await onServer(`alter database ${name} allow_connections true`);
    await running;
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
    expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
  });

  it('are rebuilt although the rebuild of another projection fails, which is retried', async () => {
    const other = await database.pool.connect();
    const versions = async (): Promise<object[]> =>
      (await database.pool.query('select version from read.checkpoints order by version')).rows;
    const versionBefore = { version: 1 };
    const current = { version: versionOf(assetStatuses) };
    try {
      await other.query(`select pg_advisory_lock(hashtext('read_next_asset-statuses'))`);
      const running = run();
      await eventually('two attempts have failed', () => failures() >= 2);
      expect(await versions()).toEqual([versionBefore, current]);
      await other.query('select pg_advisory_unlock_all()');
      await running;
      expect(await versions()).toEqual([current, current]);
    } finally {
      other.release();
    }
  });

  it('stay in use if the rebuild is stopped, and are rebuilt by the next start', async () => {
    const stop = new AbortController();
    stop.abort();
    await run(stop.signal);
    expect(await keys()).toEqual(['LINKEDIN:old']);
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
  });

  it('stay in use if the rebuild is stopped while it waits for a reader of a table', async () => {
    const stop = new AbortController();
    let reads = 0;
    const reader = await database.pool.connect();
    try {
      await reader.query('begin; select from read.asset_statuses');
      const running = run(stop.signal);
      await eventually('the rebuild waits for the table', async () => {
        const waiting = `select from pg_locks where relation = 'read.asset_statuses'::regclass and not granted`;
        return (await database.pool.query(waiting)).rowCount === 1;
      });
      stop.abort();
      const readAll = log.readAll.bind(log);
      log.readAll = (...given) => ((reads += 1), readAll(...given));
      await running;
    } finally {
      await reader.query('rollback');
      reader.release();
    }
    // Each attempt reads new events of the log. On a busy machine, one more may have begun just before the stop.
    expect(reads).toBeLessThanOrEqual(1);
    expect(await keys()).toEqual(['LINKEDIN:old']);
    await run();
    expect(await keys()).toEqual(['LINKEDIN:in/evil']);
  });
});

describe('A rebuild', () => {
  const database = newDatabase();

  it('ends a CSV export that holds its table, but no other reader', async () => {
    const log = new InMemoryEventLog(recordedInOrder(history(new Random(1), 20)));
    await projectToHead(log, database.pool, PROJECTIONS);
    const read = async (name: string): Promise<PoolClient> => {
      const reader = await database.pool.connect();
      reader.on('error', () => undefined);
      await reader.query(`begin; set local application_name = '${name}'; select from read.asset_statuses`);
      return reader;
    };
    const [exporting, other] = [await read(EXPORT_APPLICATION_NAME), await read('backup')];
    const running = rebuild({ pool: database.pool, log }, [assetStatuses]);
    await eventually('the export is ended', async () => {
      const named = `select from pg_stat_activity where application_name = $1`;
      return (await database.pool.query(named, [EXPORT_APPLICATION_NAME])).rowCount === 0;
    });
    await other.query('rollback');
    other.release();
    await running;
    exporting.release(true);
  });
});

describe('The tables of a projection', () => {
  const database = newDatabase();

  /** The columns, indexes and storage parameters. */
  const shape = async (): Promise<unknown> => {
    const queries = [
      `select tablename, indexname, indexdef, tablespace from pg_indexes where schemaname = 'read' order by 1, 2`,
      `select relname, reloptions, relpersistence from pg_class where relnamespace = 'read'::regnamespace and relkind = 'r' order by 1`,
      `select conrelid::regclass::text as "table", conname, pg_get_constraintdef(oid) as definition from pg_constraint
        where connamespace = 'read'::regnamespace order by 1, 2`,
    ];
    return Promise.all(queries.map(async (query) => (await database.pool.query<object>(query)).rows));
  };

  it('are rebuilt and verified although the log is temporarily unavailable', async () => {
    const event = sent('BrandRegistered', { organization: 'acme', brand: 'wallet', updatedAt: AT });
    const log = new InMemoryEventLog(recordedInOrder([event]));
    await projectToHead(log, database.pool);
    const readAll = log.readAll.bind(log);
    let failures = 0;
    log.readAll = (after, limit) => {
      if (++failures % 3 !== 0) return Promise.reject(new Unavailable('The log is away'));
      return readAll(after, limit);
    };
    const logged: string[] = [];
    const source = { pool: database.pool, log, onWait: (sentence: string) => void logged.push(sentence) };
    await rebuild(source, ALL);
    expect(await verify(source, ALL)).toEqual([]);
    expect(logged.slice(0, 2)).toEqual([
      'The log is unavailable (The log is away); waiting for at most 60 s',
      'The log is available again; the work continues',
    ]);
  });

  it.each<readonly [string, (source: Source) => Promise<unknown>]>([
    ['a rebuild', (source) => rebuild(source, [assetStatuses])],
    ['a verification', async (source) => expect(await verify(source, [assetStatuses])).toEqual([])],
  ])('can be written again while %s waits for a log that went away while it held the checkpoint', async (_, work) => {
    const log = new InMemoryEventLog();
    await projectToHead(log, database.pool, [assetStatuses]);
    const isHeld = async (): Promise<boolean> =>
      (await database.pool.query('select from read.checkpoints for update skip locked')).rowCount === 0;
    const readStream = log.readStream.bind(log);
    let state: 'there' | 'away' | 'back' = 'there';
    log.readStream = async (...given) => {
      if (state === 'there' && (await isHeld())) state = 'away';
      if (state === 'away') throw new Unavailable('The log is away');
      return readStream(...given);
    };
    const logged: string[] = [];
    const running = work({ pool: database.pool, log, onWait: (sentence) => void logged.push(sentence) });
    await eventually('the checkpoint is free', async () => state === 'away' && !(await isHeld()));
    state = 'back';
    await running;
    expect(logged).toEqual([
      'The log is unavailable (The log is away); waiting for at most 60 s',
      'The log is available again; the work continues',
    ]);
  });

  it('are rebuilt with one read of the log, however many they are', async () => {
    const event = sent('BrandRegistered', { organization: 'acme', brand: 'wallet', updatedAt: AT });
    const log = new InMemoryEventLog(recordedInOrder([event]));
    await projectToHead(log, database.pool);
    const readAll = log.readAll.bind(log);
    let pages = 0;
    log.readAll = (after, limit) => {
      pages += 1;
      return readAll(after, limit);
    };
    await rebuild({ pool: database.pool, log }, ALL);
    expect(ALL.length).toBeGreaterThan(1);
    expect(pages).toBe(1);
  });

  it('have the same owners and privileges after a rebuild', async () => {
    const [reporter, owner] = ['reporter', 'owner'].map((name) => `${name}_${process.pid}_${Date.now()}`);
    const access = async (): Promise<object[]> => {
      const sql = `
        select relname, relowner::regrole, attname, p.grantee::regrole, p.privilege_type, p.is_grantable from pg_class
        left join lateral (
          select null as attname, p.* from aclexplode(relacl) p
          union all select attname, p.* from pg_attribute, aclexplode(attacl) p where attrelid = pg_class.oid
        ) p on true
        where relnamespace = 'read'::regnamespace and relkind = 'r' order by 1, 2, 3, 4, 5, 6`;
      return (await database.pool.query<object>(sql)).rows;
    };
    await database.pool.query(`
      create role ${reporter}; create role ${owner};
      grant usage on schema read to ${reporter}; grant usage, create on schema read to ${owner};
      alter table read.days owner to ${owner}; grant select on read.days to ${reporter} with grant option;
      grant select, trigger on read.register to ${reporter}; grant select on read.asset_statuses to public;
      grant select (organization, brand) on read.register_brands to ${reporter}`);
    try {
      const before = await access();
      const log = new InMemoryEventLog();
      await projectToHead(log, database.pool);
      await rebuild({ pool: database.pool, log }, ALL);
      expect(await access()).toEqual(before);
      await database.pool.query(
        `begin; set local role ${reporter}; select organization from read.register_brands; commit`,
      );
    } finally {
      await database.pool.query(`
        alter table read.days owner to current_user; drop owned by ${reporter}, ${owner}; drop role ${reporter}, ${owner}`);
    }
  });

  it('have the same storage parameters and index names after a rebuild', async () => {
    const log = new InMemoryEventLog();
    const before = await shape();
    await projectToHead(log, database.pool);
    await rebuild({ pool: database.pool, log }, ALL);
    expect(await shape()).toEqual(before);
  });

  it('have their indexes in the same tablespaces after a rebuild', async () => {
    const tablespace = `fast_${process.pid}_${Date.now()}`;
    const connection = await database.pool.connect();
    await connection.query('set allow_in_place_tablespaces = on');
    await connection.query(`create tablespace ${tablespace} location ''`);
    connection.release(true);
    try {
      await database.pool.query(`
        alter index read.register_feed set tablespace ${tablespace};
        alter index read.register_pkey set tablespace ${tablespace}`);
      const log = new InMemoryEventLog();
      const before = await shape();
      expect(JSON.stringify(before)).toContain(tablespace);
      await projectToHead(log, database.pool, [register]);
      await rebuild({ pool: database.pool, log }, [register]);
      expect(await shape()).toEqual(before);
    } finally {
      // Dropping a tablespace waits until the server has written and synchronised the databases of all specs. A server
      // that is deleted after the run need not drop it.
      if (process.env['TEST_DATABASE_ENDS_WITH_RUN'] !== 'yes') {
        await database.pool.query(`
          alter index read.register_feed set tablespace pg_default;
          alter index read.register_pkey set tablespace pg_default`);
        await database.pool.query(`drop tablespace ${tablespace}`);
      }
    }
  });

  it('get the indexes that only readers use after they have been filled', async () => {
    const log = new InMemoryEventLog(recordedInOrder(history(new Random(1), 100)));
    await projectToHead(log, database.pool);
    const secondary = async (schema: string): Promise<number> => {
      const query = `
        select count(*)::int as n from pg_index join pg_class c on c.oid = indrelid
        where relnamespace = $1::regnamespace and relname = any($2) and not indisunique`;
      return (await database.pool.query<{ n: number }>(query, [schema, register.indexedForReaders])).rows[0]!.n;
    };
    const complete = await secondary('read');
    const counts: Promise<number>[] = [];
    await rebuild({ pool: database.pool, log }, [register], () => {
      if (counts.length === 0) counts.push(secondary('read_next_register'));
    });
    expect(await Promise.all(counts)).toEqual([0]);
    expect(await secondary('read')).toBe(complete);
  });

  it('stay in use, at once, if the rebuild is stopped while it creates an index', async () => {
    const log = new InMemoryEventLog(recordedInOrder(history(new Random(1), 100)));
    await projectToHead(log, database.pool);
    const stop = new AbortController();
    const checks: { readonly isLinux: boolean }[] = [];
    // A slow index: its statement sleeps on the server until it is cancelled.
    const pool = interceptQueries(database.pool, () => async (statement, send) => {
      if (!statement.text.includes('; create index ')) return send(statement);
      const { rows } = await send({
        text: `select current_setting('client_connection_check_interval') as interval, version() ~ 'linux' as "isLinux"`,
      });
      checks.push(...(rows as typeof checks));
      setTimeout(() => stop.abort('SIGTERM'), 50);
      return send({ text: 'select pg_sleep(3600)' });
    });
    await expect(rebuild({ pool, log }, [register], undefined, stop.signal)).rejects.toBe('SIGTERM');
    // The server also ends the statement if the process is killed.
    expect(checks).toEqual([{ interval: checks[0]!.isLinux ? '5s' : '0', isLinux: expect.any(Boolean) }]);
    expect(await verify({ pool: database.pool, log }, [register])).toEqual([]);
  });

  it('are filled without scans of those tables that have only unique indexes meanwhile', async () => {
    const tables = ALL.flatMap(({ indexedForReaders = [] }: Projection) => indexedForReaders);
    const secondary = `
      select format('drop index %s', indexrelid::regclass) from pg_index join pg_class c on c.oid = indrelid
      where relnamespace = 'read'::regnamespace and relname = any($1) and not indisunique`;
    const { rows: dropped } = await database.pool.query<{ format: string }>(secondary, [tables]);
    expect(dropped.length).toBeGreaterThan(tables.length);
    for (const { format } of dropped) await database.pool.query(format);
    const scans = async (): Promise<object[]> => {
      const query = `
        select relname, seq_scan::int as scans, n_tup_ins > 0 as "isFilled" from pg_stat_user_tables
        where schemaname = 'read' and relname = any($1) order by 1`;
      return (await database.pool.query<object>(query, [tables])).rows;
    };
    const before = await scans();
    // A connection reports its statistics when it is closed.
    const pool = createPool(database.url);
    const events = history(new Random(1), 2_000);
    await projectToHead(new InMemoryEventLog(recordedInOrder([...events, ...events.slice(0, 500)])), pool);
    await pool.end();
    expect(before).toHaveLength(tables.length);
    await eventually('the statistics are reported', async () =>
      (await scans()).every((row) => (row as { isFilled: boolean }).isFilled),
    );
    expect(await scans()).toEqual(before.map((row) => ({ ...row, isFilled: true })));
  });
});
