import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { decodeEvent } from '../../../projections/engine/parking.js';
import { dropParked, listParked, type Parked, retryParked } from '../../../projections/engine/parked.js';
import { type ProjectedEvent, transact } from '../../../projections/engine/projection.js';
import { rebuild } from '../../../projections/engine/rebuild.js';
import { register } from '../../../projections/register/projection.js';
import { type EventLog, type RecordedEvent, WrongExpectedRevision } from '../../../src/event-log/event-log.js';
import { newEvent } from '../../../src/event-log/new-event.js';
import { OPERATIONS_STREAM } from '../../../src/events/streams.js';
import { newStoredKey } from '../../../src/events/stored-key.js';
import { redactData } from '../../../src/events/redacted.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { emptiedDatabase } from '../../support/open-for-tests.js';
import { projectToHead, retryAndProject, startProjecting } from '../../support/projecting.js';
import { Random } from '../../support/random.js';
import { seeds } from '../../support/full-size.js';
import { eventId, recordedInOrder, sent, type Sent, sentThreat, stored } from '../../support/upstream.js';

const database = emptiedDatabase();

const day = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 86_400_000).toISOString();
/** @param form 1 for another content with the same key */
const asset = (n: number, form = 0) => ({ type: 'URL', content: `${['late', 'LATE'][form]}-${n}.example` });
const hashOf = (n: number): string => newStoredKey({ type: 'X', data: { asset: asset(n) } } as never)!.hash;

const redacted = (n: number, record: object): Sent =>
  sent('ContentRedacted' as Sent['type'], { ...record, assetHash: hashOf(n), redactedAt: day(40) });
const threat = (n: number, updatedAt: string): Sent =>
  sentThreat('t', { asset: asset(n), createdAt: day(0), updatedAt });
const THREAT = { organization: 'acme', kind: 'threat', id: 't' };
const ENTRY = { kind: 'assetStatus', id: 'c' };
const entry = (n: number, createdAt: string, organizations: readonly string[], status = 'BLOCKED', form = 0): Sent =>
  sent('AssetStatusChanged', {
    changeId: 'c',
    asset: asset(n, form),
    status,
    brandReviews: organizations.map((organization) => ({ organization, brand: 'wallet' })),
    createdAt,
  });

/** The events after their contents were redacted: each state whose asset has a later redaction. */
const rewritten = (events: readonly RecordedEvent[]): RecordedEvent[] =>
  events.map((event, index) => {
    const { assetKey } = event.metadata as { readonly assetKey?: { readonly hash: string } };
    const isEntry = 'changeId' in (event.data as object);
    const isRedacted = events.slice(index).some(({ type, data }) => {
      const { kind, assetHash } = data as { readonly kind: string; readonly assetHash: string };
      return type === 'ContentRedacted' && assetHash === assetKey?.hash && isEntry === (kind === 'assetStatus');
    });
    return isRedacted ? { ...event, data: redactData(event.data as never) } : event;
  });

const TABLES = ['register', 'register_brands', 'entries', 'disputes'];
const rowsIn = async (): Promise<Record<string, unknown>> => {
  const rows: Record<string, unknown> = {};
  for (const table of TABLES)
    rows[table] = (await database.pool.query(`select r::text from read.${table} r order by 1`)).rows;
  return rows;
};

/** The log without redacted contents, of which these events are parked and then retried. */
const retried = async (
  sentEvents: readonly Sent[],
  parks: (index: number) => boolean,
  { order, setBackFrom = Infinity }: { order?: Random; setBackFrom?: number } = {},
) => {
  const events = recordedInOrder(sentEvents).map((event, index): RecordedEvent =>
    index < setBackFrom ? event : { ...event, recordedAt: event.recordedAt - 1_000 },
  );
  const ids = new Set(events.filter((_, index) => parks(index)).map(({ id }) => id));
  const refusing: typeof register = {
    ...register,
    prepare: async (all, recorded) => {
      if (all.some(({ id }) => ids.has(id))) throw new Error('not now');
      return register.prepare(all, recorded);
    },
  };
  await projectToHead(new InMemoryEventLog(events), database.pool, [refusing]);
  const source = { pool: database.pool, log: new InMemoryEventLog(rewritten(events)) };
  const parked = await listParked(database.pool);
  expect(parked).toHaveLength(ids.size);
  for (const one of order?.shuffled(parked) ?? parked)
    expect(await retryAndProject(source, register, one)).toBeUndefined();
  const rows = await rowsIn();
  await rebuild(source, [register]);
  return { rows, rebuilt: await rowsIn() };
};

const filed = sent('DisputeFiled' as Sent['type'], {
  organization: 'acme',
  disputeId: 'dp_1',
  asset: asset(1),
  content: 'late-1.example',
  verdict: { status: 'BLOCKED', source: 'own', sources: [], message: 'Blocked.' },
  createdAt: day(1),
});

describe('A retried event leaves the rows of a rebuild', () => {
  it.each<[string, readonly Sent[], number]>([
    [
      'a redaction before that of an older asset of the threat',
      [threat(2, day(1)), threat(1, day(2)), redacted(1, THREAT), redacted(2, THREAT)],
      2,
    ],
    ['a state before the redaction of its threat', [threat(1, day(1)), redacted(1, THREAT)], 0],
    [
      'a newer state before the redaction of its threat',
      [threat(1, day(1)), threat(1, day(2)), redacted(1, THREAT)],
      1,
    ],
    ['a dispute before its redaction', [filed, redacted(1, { organization: 'acme', kind: 'dispute', id: 'dp_1' })], 0],
    [
      'a redaction before that of another asset of the entry',
      [entry(2, day(1), ['acme']), entry(1, day(2), ['acme']), redacted(1, ENTRY), redacted(2, ENTRY)],
      2,
    ],
    ['a state before the redaction of its entry', [entry(1, day(1), ['acme']), redacted(1, ENTRY)], 0],
    ['an older state with another organization', [entry(1, day(1), ['acme', 'b']), entry(2, day(2), ['b'])], 0],
    [
      'an older state of a deleted entry',
      [
        entry(1, day(1), ['acme']),
        sent('AssetStatusChangeDeleted', { changeId: 'c', asset: asset(1), deletedAt: day(2) }),
      ],
      0,
    ],
    [
      'an older state with the same view',
      [entry(1, day(1), ['acme']), entry(1, day(1), ['acme', 'b']), entry(1, day(1), ['acme'])],
      0,
    ],
    [
      'a state that separates two equal views',
      [entry(1, day(2), ['acme'], 'ALLOWED'), entry(1, day(3), ['b']), entry(1, day(4), ['acme', 'b'], 'ALLOWED')],
      1,
    ],
    ['a newer state that makes the ones after it outdated', [entry(1, day(9), ['b']), entry(1, day(1), ['acme'])], 0],
  ])('for %s', async (_, events, index) => {
    const { rows, rebuilt } = await retried(events, (n) => n === index);
    expect(rows).toEqual(rebuilt);
  });

  it.each(seeds(5, 300))(
    'for any states and redactions of an entry and a threat, in any order (seed %i)',
    async (seed) => {
      const random = new Random(seed);
      const n = (): number => 1 + random.int(2);
      const events = Array.from({ length: 4 + random.int(8) }, (): Sent => {
        const at = day(random.int(6));
        const record = random.pick([ENTRY, THREAT]);
        if (random.chance(0.25)) return redacted(n(), record);
        if (record === THREAT) return threat(n(), at);
        if (random.chance(0.1))
          return sent('AssetStatusChangeDeleted', { changeId: 'c', asset: asset(n()), deletedAt: at });
        return entry(
          n(),
          at,
          ['acme', 'b', 'd'].filter(() => random.chance(0.6)),
          random.pick(['BLOCKED', 'ALLOWED']),
          random.int(2),
        );
      });
      const { rows, rebuilt } = await retried(events, () => random.chance(0.4), { order: random });
      expect(rows).toEqual(rebuilt);
    },
  );

  it('for an entry of which more events are known than are kept, if it is not older than these', async () => {
    const many = Array.from({ length: 90 }, (_, n) => entry(1, day(n), n % 3 === 0 ? ['acme', 'b'] : ['acme']));
    const { rows, rebuilt } = await retried(many, (n) => n === 88);
    expect(rows).toEqual(rebuilt);
    const text = 'select jsonb_array_length(history -> $1) as changes from read.entries';
    expect((await database.pool.query(text, ['changes'])).rows).toEqual([{ changes: 64 }]);
  });

  it('for a redacted entry of which more events are known than are kept', async () => {
    const contents = Array.from({ length: 90 }, (_, n) => entry(1, day(1), ['acme'], 'BLOCKED', n % 2));
    // Of states with one date, the one with the highest event id is the newest.
    const many = contents.sort((a, b) => (eventId(a) < eventId(b) ? -1 : 1));
    const { rows, rebuilt } = await retried([...many, redacted(1, ENTRY)], () => false);
    expect(rows).toEqual(rebuilt);
  });

  it('beside events that the log stored after its clock was set back', async () => {
    const threats = ['a', 'b', 'c', 'd'].map((id) => sentThreat(id));
    const { rows, rebuilt } = await retried(threats, (index) => index === 1, { setBackFrom: 2 });
    expect(rows).toEqual(rebuilt);
    const { rows: dates } = await database.pool.query('select distinct added_at from read.register');
    expect(dates).toHaveLength(threats.length);
  });

  it('in whatever order the events of an entry are applied, in batches of any size', async () => {
    const random = new Random(7);
    const states = Array.from({ length: 10 }, () =>
      entry(
        1 + random.int(2),
        day(random.int(5)),
        ['acme', 'b'].filter(() => random.chance(0.7)),
        random.pick(['BLOCKED', 'ALLOWED']),
      ),
    );
    const projected = rewritten(recordedInOrder([...states, redacted(1, ENTRY)])).map((event) => {
      const result = decodeEvent(event);
      if (result.kind !== 'read') throw new Error(`The event of the spec is ${result.kind}`);
      return result.projected;
    });
    const after = async (batches: readonly (readonly ProjectedEvent[])[]): Promise<unknown> => {
      for (const table of [...TABLES, 'register_clock']) await database.pool.query(`delete from read.${table}`);
      for (const batch of batches)
        await transact(database.pool, 'read', async (transaction) =>
          (await register.prepare(batch as never, batch))(transaction),
        );
      return rowsIn();
    };
    const expected = await after([projected]);
    expect(await after(projected.map((one) => [one]))).toEqual(expected);
    for (let time = 0; time < 10; time += 1)
      expect(await after(random.shuffled(projected).map((one) => [one]))).toEqual(expected);
  });

  it('stays parked if too many events are after it', async () => {
    const [state] = recordedInOrder([threat(1, day(1))]) as [RecordedEvent];
    const refusing: typeof register = {
      ...register,
      prepare: async (all, recorded) => {
        if (all.length > 0) throw new Error('not now');
        return register.prepare(all, recorded);
      },
    };
    const log = new InMemoryEventLog([state]);
    await projectToHead(log, database.pool, [refusing]);
    const [parked] = await listParked(database.pool);
    const readStream = log.readStream.bind(log);
    let pages = 0;
    let beats = 0;
    const beatsBeforePages = new Set<number>();
    log.readStream = async (stream, from, limit) => {
      if (stream !== state.stream) return readStream(stream, from, limit);
      pages += 1;
      beatsBeforePages.add(beats);
      return Array.from({ length: limit }, (_, n) => ({ ...state, revision: from + BigInt(n) }));
    };
    await retryParked(log, [parked!]);
    await projectToHead(log, database.pool, [register], { onHeartbeat: () => (beats += 1) });
    expect(await listParked(database.pool)).toMatchObject([
      { attempts: 2, reason: 'more than 100000 events follow it in the stream threat-acme:t' },
    ]);
    expect(pages).toBe(50);
    // The health check of the process fails after 10 s without a heartbeat.
    expect(beatsBeforePages.size).toBe(pages);
    expect(await rowsIn()).toMatchObject({ register: [] });
  });
});

describe('A parked event', () => {
  const poison = { ids: new Set<string>() };
  const refusing: typeof register = {
    ...register,
    prepare: async (all, recorded) => {
      if (all.some(({ id }) => poison.ids.has(id))) throw new Error('not now');
      return register.prepare(all, recorded);
    },
  };
  /** A log of three threats, of which the second one is parked. */
  const parkSecond = async () => {
    const events = recordedInOrder(['a', 'b', 'c'].map((id) => sentThreat(id)));
    poison.ids = new Set([events[1]!.id]);
    const log = new InMemoryEventLog(events);
    await projectToHead(log, database.pool, [refusing]);
    const [parked] = await listParked(database.pool);
    return { source: { pool: database.pool, log }, parked: parked! };
  };
  const listed = async () =>
    (await database.pool.query('select id, position from read.register order by position')).rows;

  it('is listed at the place of the retry that applied it, now and after a rebuild', async () => {
    const { source, parked } = await parkSecond();
    expect(await retryAndProject(source, refusing, parked)).toBe('not now');
    poison.ids.clear();
    expect(await retryAndProject(source, refusing, parked)).toBeUndefined();
    const rows = await listed();
    const head = Number(await source.log.head());
    expect(rows).toEqual([
      { id: 'a', position: 0 },
      { id: 'c', position: 2 },
      { id: 'b', position: head },
    ]);
    await rebuild(source, [register]);
    expect(await listed()).toEqual(rows);
    expect(await listParked(database.pool)).toEqual([]);
    // Readers keep the beginning of the id of the event at their position.
    expect(await source.log.has({ position: BigInt(head), event: parked.event_id.slice(0, 8) })).toBe(true);
  });

  it.each([0, 1])(
    'stays parked in a rebuild that could apply it, also after %i retries that failed',
    async (retries) => {
      const { source, parked } = await parkSecond();
      for (let n = 0; n < retries; n += 1) expect(await retryAndProject(source, refusing, parked)).toBe('not now');
      poison.ids.clear();
      await rebuild(source, [register]);
      expect(await listParked(database.pool)).toEqual([
        { ...parked, attempts: 1 + retries, reached: expect.any(Number) },
      ]);
      expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c']);
      expect(await retryAndProject(source, register, parked)).toBeUndefined();
      const rows = await listed();
      expect(rows.at(-1)).toEqual({ id: 'b', position: Number(await source.log.head()) });
      await rebuild(source, [register]);
      expect(await listed()).toEqual(rows);
    },
  );

  it('is never applied once it was dropped, whether before or after a retry', async () => {
    const { source, parked } = await parkSecond();
    expect(await retryAndProject(source, refusing, parked)).toBe('not now');
    await dropParked(source.log, [parked], 'a duplicate');
    poison.ids.clear();
    expect(await retryAndProject(source, refusing, parked)).toBeUndefined();
    await rebuild(source, [register]);
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c']);
    expect(await listParked(database.pool)).toEqual([]);
  });

  it('is not applied by a retry that follows its drop, also by a projector that was running before', async () => {
    const { source, parked } = await parkSecond();
    const projecting = startProjecting(source.log, database.pool, [register]);
    try {
      // The projector has read what was decided before.
      await source.log.appendAll([stored(sentThreat('d'))]);
      await projecting.reached();
      await dropParked(source.log, [parked], 'a duplicate');
      await retryParked(source.log, [parked]);
      await projecting.reached();
    } finally {
      await projecting.stop();
    }
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c', 'd']);
    await rebuild(source, [register]);
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c', 'd']);
  });

  it('is never applied if version 2.2 parked it for `records` and it was dropped, and is not listed', async () => {
    const { source, parked } = await parkSecond();
    await dropParked(source.log, [{ ...parked, projection: 'records' }], 'a duplicate');
    poison.ids.clear();
    await rebuild(source, [register]);
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c']);
    await database.pool.query(`
      insert into read.parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
      values ('records', gen_random_uuid(), 1, 's', 1, 'T', '{}', '{}', '', 0)`);
    expect(await listParked(database.pool)).toEqual([]);
  });

  /** Retries an event without reading whether another retry waits for the projector. */
  const appendRetries = async (
    log: EventLog,
    { projection, event_id: eventId, stream, revision }: Parked,
    count: number,
  ) => {
    const data = { projection, eventId, stream, revision, createdAt: 1 };
    const events = Array.from({ length: count }, () => newEvent({ type: 'ParkedEventRetried', data }));
    await log.append(OPERATIONS_STREAM, 'any', events);
  };

  it('is not retried again while a retry waits for the projector', async () => {
    const { source, parked } = await parkSecond();
    const first = await retryParked(source.log, [parked]);
    expect(await retryParked(source.log, [parked])).toBe(first);
    expect(await source.log.head()).toBe(first);
    await projectToHead(source.log, database.pool, [refusing]);
    const [failed] = await listParked(database.pool);
    expect(await retryParked(source.log, [failed!])).toBe(first! + 1n);
  });

  it('is retried with thousands of others in slices that every log takes', async () => {
    const { source, parked } = await parkSecond();
    const all = Array.from({ length: 2_500 }, () => ({ ...parked, event_id: randomUUID() }));
    const sizes: number[] = [];
    const append: EventLog['append'] = (stream, expected, events) => {
      sizes.push(events.length);
      return source.log.append(stream, expected, events);
    };
    const log = Object.assign(Object.create(source.log) as EventLog, { append });
    const before = await source.log.head();
    expect(await retryParked(log, all)).toBe(before + 2_500n);
    expect(await source.log.head()).toBe(before + 2_500n);
    expect(sizes).toEqual([1_000, 1_000, 500]);
  });

  it('is retried until other programs have written in between five times', async () => {
    const { source, parked } = await parkSecond();
    let attempts = 0;
    const append: EventLog['append'] = () => {
      attempts += 1;
      return Promise.reject(new WrongExpectedRevision(OPERATIONS_STREAM, 'no-stream', 0n));
    };
    const log = Object.assign(Object.create(source.log) as EventLog, { append });
    await expect(retryParked(log, [parked])).rejects.toThrow('Parked events are being changed concurrently; try again');
    expect(attempts).toBe(5);
  });

  it('is not dropped for a reason that the projector could not read', async () => {
    const { source, parked } = await parkSecond();
    const before = await source.log.head();
    await expect(dropParked(source.log, [parked], 'x'.repeat(1_001))).rejects.toThrow(
      'reason must be at most 1000 characters',
    );
    expect(await source.log.head()).toBe(before);
    await dropParked(source.log, [parked], 'x'.repeat(1_000));
    await projectToHead(source.log, database.pool, [refusing]);
    expect(await listParked(database.pool)).toEqual([]);
  });

  it('is applied by the last of its retries, also by a projector that was running before', async () => {
    const { source, parked } = await parkSecond();
    const projecting = startProjecting(source.log, database.pool, [register]);
    try {
      // The projector has read what was decided before.
      await source.log.appendAll([stored(sentThreat('d'))]);
      await projecting.reached();
      await appendRetries(source.log, parked, 2);
      await projecting.reached();
    } finally {
      await projecting.stop();
    }
    const rows = await listed();
    expect(rows.at(-1)).toEqual({ id: 'b', position: Number(await source.log.head()) });
    await rebuild(source, [register]);
    expect(await listed()).toEqual(rows);
  });

  it.each([
    ['data', 3_000, false],
    ['data', 100_000, true],
    ['metadata', 100_000, true],
  ] as const)('is listed if its %s are nested in %i levels', async (name, levels, isUnwritable) => {
    const [before, event, after] = recordedInOrder(['a', 'b', 'c'].map((id) => sentThreat(id)));
    const nested = { nested: JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown };
    const log = new InMemoryEventLog([before!, { ...event!, [name]: nested }, after!]);
    await projectToHead(log, database.pool, [register]);
    const [parked] = await listParked(database.pool);
    expect(parked!.event_id).toBe(event!.id);
    expect(parked![name] === null).toBe(isUnwritable);
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c']);
    await rebuild({ pool: database.pool, log }, [register]);
    expect(await listParked(database.pool)).toHaveLength(1);
  });

  it('is tried once if it was retried twice in one batch', async () => {
    const { source, parked } = await parkSecond();
    await appendRetries(source.log, parked, 2);
    await projectToHead(source.log, database.pool, [refusing]);
    expect(await listParked(database.pool)).toMatchObject([{ attempts: 2 }]);
  });

  it('starts a rebuild again if it is retried or parked while the rebuild runs', async () => {
    const { source, parked } = await parkSecond();
    poison.ids.clear();
    let isFirst = true;
    const reached: bigint[] = [];
    const meanwhile: typeof register = {
      ...register,
      prepare: async (all, recorded) => {
        if (isFirst) {
          isFirst = false;
          await database.pool.query(`delete from read.parked_events`);
          await database.pool.query(
            `insert into read.parked_events (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
             values ('records', $1, 0, 'threat-acme:a', 0, 'ThreatStatusChanged', '{}', '{}', 'late', 1)`,
            [parked.event_id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))],
          );
        }
        return register.prepare(all, recorded);
      },
    };
    await rebuild(source, [meanwhile], (position) => reached.push(position));
    expect(reached.filter((position) => position === 2n).length).toBeGreaterThan(1);
  });

  it('does not start a rebuild again if it was stored and parked while the rebuild runs', async () => {
    const { source, parked } = await parkSecond();
    const [later, last] = ['d', 'e'].map((id) => stored(sentThreat(id)));
    let passes = 0;
    const meanwhile: typeof register = {
      ...register,
      prepare: async (all, recorded) => {
        if (all.some(({ id }) => id === parked.event_id)) throw new Error('not now');
        if (all.some(({ event }) => event.type === 'ThreatStatusChanged' && event.data.threatId === 'a')) {
          passes += 1;
          if (passes === 1) {
            poison.ids.add(later!.event.id);
            await source.log.appendAll([later!, last!]);
            await projectToHead(source.log, database.pool, [refusing]);
            poison.ids.clear();
          }
        }
        return register.prepare(all, recorded);
      },
    };
    await rebuild(source, [meanwhile]);
    expect(passes).toBe(1);
    expect((await listed()).map(({ id }) => id)).toEqual(['a', 'c', 'e']);
    expect((await listParked(database.pool)).map((one) => [one.event_id, one.reason])).toEqual([
      [parked.event_id, 'not now'],
      [later!.event.id, 'not now'],
    ]);
    for (const one of await listParked(database.pool)) await retryAndProject(source, register, one);
    const rows = await listed();
    expect(rows.map(({ id }) => id)).toEqual(['a', 'c', 'e', 'b', 'd']);
    await rebuild(source, [register]);
    expect(await listed()).toEqual(rows);
  });
});
