import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { LOG_MIGRATIONS } from '../../../src/event-log/postgres/schema.js';
import { APPEND, type AppendedEntry } from '../../../src/event-log/postgres/writer.js';
import { createPool } from '../../../src/postgres/pool.js';
import { migrate } from '../../../src/postgres/migrator.js';
import { createDatabase, NO_LIMITS, type TestDatabase } from '../../support/postgres.js';
import { Random } from '../../support/random.js';

/** The function with which version 2.1.0 appended, entry by entry. */
const appendOneByOne = (name: string): string => `
  create or replace function log.${name}(
    requests int[], streams text[], expected bigint[], ids uuid[], types text[], data text[], metadata text[]
  ) returns table (outcome text, "position" bigint, revision bigint, stream_revision bigint)
  language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
  #variable_conflict use_column
  declare
    last_position bigint;
    clock bigint;
    head bigint;
    wanted uuid[];
    known int;
    known_here int;
    refused boolean := false;
  begin
    perform pg_advisory_xact_lock(20261121);
    select coalesce(max(e.position), -1) into last_position from log.events e;
    clock := floor(extract(epoch from clock_timestamp()) * 1000);
    for i in 1 .. cardinality(ids) loop
      if i = 1 or requests[i] <> requests[i - 1] then
        refused := false;
        if expected[i] is not null then
          -- All of a conditional request is known, or none of it and its stream is where it was expected.
          select coalesce(max(e.revision), -1) into head from log.events e where e.stream = streams[i];
          wanted := array[ids[i]];
          for j in i + 1 .. cardinality(ids) loop
            exit when requests[j] <> requests[i];
            wanted := wanted || ids[j];
          end loop;
          select array_agg(distinct r.id) into wanted from unnest(wanted) r (id);
          select count(*), count(*) filter (where e.stream = streams[i]) into known, known_here
            from log.events e where e.event_id = any (wanted);
          refused := known_here < cardinality(wanted) and (known > 0 or head <> expected[i]);
        end if;
      end if;
      if refused then
        outcome := 'conflict';
        position := null;
        revision := null;
        stream_revision := head;
        return next;
        continue;
      end if;
      insert into log.events as e (position, stream, revision, event_id, type, data, metadata, recorded_at)
      select
        last_position + 1, streams[i], h.revision + 1, ids[i], types[i], data[i]::json, metadata[i]::json, clock
      from (select coalesce(max(e.revision), -1) as revision from log.events e where e.stream = streams[i]) h
      where not exists (select from log.events e where e.event_id = ids[i])
      returning 'appended', e.position, e.revision, e.revision - 1
        into outcome, position, revision, stream_revision;
      if found then
        last_position := last_position + 1;
      else
        select 'duplicate', e.position, e.revision, e.revision - 1
          into outcome, position, revision, stream_revision
          from log.events e where e.event_id = ids[i];
      end if;
      return next;
    end loop;
  end
  $$`;

const databases: TestDatabase[] = [];
const openLog = async (): Promise<TestDatabase> => {
  const database = await createDatabase({ migrated: false });
  databases.push(database);
  await (await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS))).close();
  return database;
};
let newest: TestDatabase;
beforeAll(async () => {
  newest = await openLog();
});
afterAll(() => Promise.all(databases.map((database) => database.drop())));

interface Entry {
  readonly request: number;
  readonly stream: string;
  readonly expected: bigint | undefined;
  readonly id: string;
  readonly data: string;
}

const append = ({ pool }: TestDatabase, entries: readonly Entry[]): Promise<AppendedEntry[]> =>
  APPEND.run(
    pool,
    {
      requests: entries.map(({ request }) => request),
      streams: entries.map(({ stream }) => stream),
      expected: entries.map(({ expected }) => expected),
      ids: entries.map(({ id }) => id),
      types: entries.map(() => 'ThreatStatusChanged'),
      data: entries.map(({ data }) => data),
      metadata: entries.map(({ id }) => JSON.stringify({ id })),
    },
    60_000,
  );

interface Row {
  readonly event_id: string;
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
}

const rowsOf = async ({ pool }: TestDatabase): Promise<Row[]> => {
  const columns = 'position, stream, revision, event_id, type, data::text, metadata::text';
  // Position 0 is LogOpened, which names the log.
  return (await pool.query(`select ${columns} from log.events where position > 0 order by position`)).rows as Row[];
};

/**
 * A random batch with few streams and event ids, so that many entries are duplicates within the batch or of earlier
 * batches, often in another stream. Some batches have requests with an expected revision.
 */
const randomBatch = (random: Random, known: string[]): Entry[] => {
  const isConditional = random.chance(0.3);
  const entries: Entry[] = [];
  for (let request = 0, size = 1 + random.int(60); entries.length < size; request += 1) {
    const stream = `threat-${random.pick(['north', 'south', 'gone'])}:${random.int(12)}`;
    const expected = isConditional && random.chance(0.5) ? BigInt(random.int(4) - 1) : undefined;
    for (let n = 0, length = 1 + random.int(3); n < length; n += 1) {
      const id = known.length > 0 && random.chance(0.3) ? random.pick(known) : randomUUID();
      known.push(id);
      entries.push({ request, stream, expected, id, data: JSON.stringify({ n: random.int(1_000) }) });
    }
  }
  return entries;
};

it('The append function gives the same rows and answers as appending entry by entry, with contiguous positions and revisions', async () => {
  const oneByOne = await openLog();
  await oneByOne.pool.query(appendOneByOne('append_unchecked'));
  for (const { pool } of [newest, oneByOne])
    await pool.query(
      "insert into log.erased select encode(sha256(convert_to(l.id || ':gone', 'UTF8')), 'hex'), l.id " +
        "from (select data ->> 'logId' as id from log.events where position = 0) l",
    );
  const random = new Random(70);
  const known: string[] = [];
  const outcomes = new Map<string, number>();
  let refused = 0;
  for (let n = 0; n < 250; n += 1) {
    const batch = randomBatch(random, known).filter(({ stream }) => n % 10 === 0 || !stream.includes('gone'));
    if (batch.length === 0) continue;
    const [one, other] = await Promise.allSettled([append(newest, batch), append(oneByOne, batch)]);
    expect(one).toEqual(other);
    if (one.status === 'rejected') {
      expect(one.reason).toMatchObject({ code: 'TP001' });
      refused += 1;
    } else {
      const kind = batch.length >= 16 && batch.every(({ expected }) => expected === undefined) ? 'many' : 'few';
      for (const { outcome } of one.value)
        outcomes.set(`${kind} ${outcome}`, (outcomes.get(`${kind} ${outcome}`) ?? 0) + 1);
    }
  }
  expect(refused).toBeGreaterThan(10);
  for (const kind of ['many appended', 'many duplicate', 'few appended', 'few duplicate', 'few conflict'])
    expect([kind, outcomes.get(kind)! > 100]).toEqual([kind, true]);

  const rows = await rowsOf(newest);
  expect(rows).toEqual(await rowsOf(oneByOne));
  expect(rows.map(({ position }) => position)).toEqual(rows.map((_, n) => n + 1));
  const revisions = new Map<string, number>();
  for (const { stream, revision } of rows) {
    expect([stream, revision]).toEqual([stream, revisions.get(stream) ?? 0]);
    revisions.set(stream, revision + 1);
  }
});

/** The definitions of the functions of the log. */
const functionsOf = async ({ pool }: TestDatabase): Promise<unknown[]> =>
  (
    await pool.query(
      "select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = 'log'::regnamespace order by proname",
    )
  ).rows;

/** Returns the log to what version 2.1.0 left, with its latest migration. */
const downgrade = async ({ pool }: TestDatabase, to: '0001' | '0002' | '0003'): Promise<void> => {
  await pool.query(`delete from log.later_migrations where name > '${to}~'`);
  if (to === '0003') {
    await pool.query(appendOneByOne('append_unchecked'));
    return;
  }
  await pool.query(`
    drop function log.append; drop function log.append_unchecked; drop function log.is_erased;
    drop function log.organizations_of; drop table log.erased`);
  await pool.query(appendOneByOne('append'));
};

it.each(['0001', '0002', '0003'] as const)(
  'The migrations give a log of the migration %s the functions of a new log, while the previous version appends',
  async (migration) => {
    const database = await openLog();
    await downgrade(database, migration);
    const acknowledged: string[] = [];
    let isMigrated = false;
    const appends = Array.from({ length: 4 }, async () => {
      for (let after = 0; after < 5; after += isMigrated ? 1 : 0) {
        const batch = Array.from({ length: 20 }, (_, request) => {
          const id = randomUUID();
          return { request, stream: `threat-north:${request}`, expected: undefined, id, data: '{}' };
        });
        for (const { outcome } of await append(database, batch)) expect(outcome).toBe('appended');
        acknowledged.push(...batch.map(({ id }) => id));
      }
    });
    await migrate(database.pool, 'log', LOG_MIGRATIONS);
    isMigrated = true;
    await Promise.all(appends);
    expect(await functionsOf(database)).toEqual(await functionsOf(newest));
    const stored = await rowsOf(database);
    expect(stored.map(({ event_id }) => event_id).sort()).toEqual(acknowledged.sort());
  },
);
