import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Appended,
  type Batch,
  BEGINNING,
  type EventLog,
  MAX_PAGE_BYTES,
  type NewEvent,
  type Place,
  type RecordedEvent,
  WrongExpectedRevision,
} from '../../src/event-log/event-log.js';
import { eventually } from '../support/eventually.js';

/** A store with one log in it. The store may hold other streams, and other writers may append to it meanwhile. */
export interface OpenedLog {
  readonly log: EventLog;
  /** Opens another instance over the same store. */
  another(): Promise<EventLog>;
  /** Closes every instance that was opened, and releases the store. */
  close(): Promise<void>;
}

/**
 * Opens a log in a store.
 * @param open opens an instance
 * @param release releases the store; called once every instance is closed
 */
export const openedLog = async (open: () => Promise<EventLog>, release: () => Promise<unknown>): Promise<OpenedLog> => {
  const instances: EventLog[] = [];
  const another = async (): Promise<EventLog> => {
    const instance = await open();
    instances.push(instance);
    return instance;
  };
  return {
    log: await another(),
    another,
    close: async () => {
      for (const instance of instances) await instance.close();
      await release();
    },
  };
};

export interface LogUnderTest {
  readonly name: string;
  readonly open: () => Promise<OpenedLog>;
  /**
   * Whether the log recognises every event id that it holds, whatever the expected revision. Otherwise a repeated event
   * may be reported as new.
   */
  readonly hasExactDuplicates: boolean;
}

const WRITERS = 16;
const WRITES_EACH = 40;

/** An organization that no other test uses, so that tests which share a store have different streams. */
const ownOrganization = (): string => `contract-${randomBytes(8).toString('hex')}`;

const someEvent = (data: object = { n: 1 }, metadata: object = {}): NewEvent => ({
  id: randomUUID(),
  type: 'ThreatStatusChanged',
  data,
  metadata,
});

const sizeOf = (data: unknown): number => Buffer.byteLength(JSON.stringify(data));

const ids = (events: readonly { readonly id: string }[]): string[] => events.map(({ id }) => id);

/** Reads everything that a log holds after a position, page by page. */
const readOn = async (log: EventLog, after: bigint, limit: number): Promise<RecordedEvent[]> => {
  const all: RecordedEvent[] = [];
  for (;;) {
    const page = await log.readAll(all.at(-1)?.position ?? after, limit);
    if (page.length === 0) return all;
    all.push(...page);
  }
};

/** Follows a log in the background; `seen` holds the events of one organization that were delivered. */
const follow = (log: EventLog, after: bigint, organization: string, onDelivered?: (batch: Batch) => void) => {
  const abort = new AbortController();
  const seen: RecordedEvent[] = [];
  const batches: Batch[] = [];
  const finished = log.subscribe(
    after,
    async (batch) => {
      batches.push(batch);
      seen.push(...batch.events.filter(({ stream }) => stream.includes(organization)));
      onDelivered?.(batch);
    },
    abort.signal,
  );
  return {
    seen,
    batches,
    stop: async () => {
      abort.abort();
      await finished;
    },
  };
};

/** Appends an event, and waits until a new follower has received it and an empty batch after it. */
const followedByAnother = async (log: EventLog, stream: string): Promise<void> => {
  const { seen, batches, stop } = follow(log, await log.head(), stream);
  await log.append(stream, 'any', [someEvent()]);
  await eventually('another follower has the event', () => seen.length > 0 && batches.at(-1)!.events.length === 0);
  await stop();
};

/** The tests that every adapter of the log passes. */
export const describeEventLog = ({ name, open, hasExactDuplicates }: LogUnderTest): void => {
  /** @param expected whether each event was stored before */
  const expectDuplicates = (
    appended: readonly { readonly duplicate: boolean }[],
    expected: readonly boolean[],
  ): void => {
    const reported = appended.map(({ duplicate }, at) => duplicate || (!hasExactDuplicates && expected[at]!));
    expect(reported).toEqual(expected);
  };
  /** What a log returns for a repeated append that returned `first` at the first time. */
  const repeatedOf = (first: Appended): Appended => ({
    ...first,
    duplicate: hasExactDuplicates ? true : (expect.any(Boolean) as unknown as boolean),
  });

  describe(`The log, ${name}`, () => {
    let opened: OpenedLog;
    let log: EventLog;
    let organization: string;
    const stream = (id: string | number): string => `threat-${organization}:${id}`;

    beforeAll(async () => {
      opened = await open();
      log = opened.log;
      organization = ownOrganization();
    });
    afterAll(() => opened?.close());

    describe('appending to a stream', () => {
      it('assigns revisions from 0 without gaps, and increasing positions', async () => {
        const first = await log.append(stream('counts'), 'no-stream', [someEvent(), someEvent()]);
        const second = await log.append(stream('counts'), 1n, [someEvent()]);
        expect([first.revision, second.revision]).toEqual([1n, 2n]);
        expect([first.duplicate, second.duplicate]).toEqual([false, false]);
        const events = await log.readStream(stream('counts'), 0n, 10);
        expect(events.map(({ revision }) => revision)).toEqual([0n, 1n, 2n]);
        expect(events[0]!.position).toBeLessThan(events[1]!.position);
        expect(events[1]!.position).toBe(first.position);
        expect(events[2]!.position).toBe(second.position);
      });

      it('has an event at its place, and at no other place', async () => {
        await log.append(stream('placed'), 'no-stream', [someEvent()]);
        const [{ id, position, recordedAt }] = (await log.readStream(stream('placed'), 0n, 1)) as [RecordedEvent];
        const place = { position, event: id, recordedAt };
        const head = await log.head();
        const asked: [Place, boolean][] = [
          [place, true],
          [{ position, event: id.slice(0, 8) }, true],
          [{ ...place, recordedAt: recordedAt + 1 }, false],
          [{ position, event: randomUUID() }, false],
          [{ ...place, position: position + 1n }, false],
          [{ ...place, position: position - 1n }, false],
          [{ ...place, position: head + 1_000_000n }, false],
        ];
        expect(await Promise.all(asked.map(([each]) => log.has(each)))).toEqual(asked.map(([, isThere]) => isThere));
      });

      it('rejects an append that expects no stream if the stream exists, and names its revision', async () => {
        await log.append(stream('taken'), 'no-stream', [someEvent(), someEvent()]);
        const refusal = await log.append(stream('taken'), 'no-stream', [someEvent()]).catch((error: unknown) => error);
        expect(refusal).toBeInstanceOf(WrongExpectedRevision);
        expect(refusal).toMatchObject({ stream: stream('taken'), expected: 'no-stream', actual: 1n });
        expect(await log.readStream(stream('taken'), 0n, 10)).toHaveLength(2);
      });

      it('rejects an append that expects an earlier or a later revision than the last one of the stream', async () => {
        await log.append(stream('moved'), 'any', [someEvent(), someEvent()]);
        for (const expected of [0n, 2n, 5n]) {
          const refusal = await log.append(stream('moved'), expected, [someEvent()]).catch((error: unknown) => error);
          expect(refusal).toBeInstanceOf(WrongExpectedRevision);
          expect(refusal).toMatchObject({ expected, actual: 1n });
        }
        expect(await log.readStream(stream('moved'), 0n, 10)).toHaveLength(2);
      });

      it('rejects an append that expects a revision if the stream does not exist', async () => {
        const refusal = await log.append(stream('absent'), 0n, [someEvent()]).catch((error: unknown) => error);
        expect(refusal).toBeInstanceOf(WrongExpectedRevision);
        expect(refusal).toMatchObject({ expected: 0n, actual: 'no-stream' });
        expect(await log.readStream(stream('absent'), 0n, 10)).toEqual([]);
      });

      it('appends to a stream at any revision if the append expects "any"', async () => {
        expect((await log.append(stream('any'), 'any', [someEvent()])).revision).toBe(0n);
        expect((await log.append(stream('any'), 'any', [someEvent(), someEvent()])).revision).toBe(2n);
      });

      it('accepts exactly one of many concurrent appends that expect the same revision', async () => {
        const other = await opened.another();
        await log.append(stream('race'), 'no-stream', [someEvent()]);
        const outcomes = await Promise.allSettled(
          Array.from({ length: WRITERS }, (_, writer) =>
            (writer % 2 ? log : other).append(stream('race'), 0n, [someEvent({ writer }), someEvent({ writer })]),
          ),
        );
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(WrongExpectedRevision);
        const events = await log.readStream(stream('race'), 1n, 100);
        expect(events).toHaveLength(2);
        expect(new Set(events.map(({ data }) => (data as { writer: number }).writer)).size).toBe(1);
      });

      it('stores the events of each append next to each other when appends are concurrent', async () => {
        await Promise.all(
          Array.from({ length: WRITERS }, (_, writer) =>
            log.append(
              stream('together'),
              'any',
              Array.from({ length: 10 }, (__, n) => someEvent({ writer, n })),
            ),
          ),
        );
        const events = await log.readStream(stream('together'), 0n, 1_000);
        expect(events.map(({ revision }) => revision)).toEqual(Array.from({ length: 160 }, (_, n) => BigInt(n)));
        for (let at = 0; at < events.length; at += 10) {
          const writers = events.slice(at, at + 10).map(({ data }) => data as { writer: number; n: number });
          expect(writers.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
          expect(new Set(writers.map(({ writer }) => writer)).size).toBe(1);
        }
      });
    });

    describe('repeating an append', () => {
      it('returns the first result again if the expected revision is the same', async () => {
        const events = [someEvent(), someEvent()];
        const first = await log.append(stream('again'), 'no-stream', events);
        const second = await log.append(stream('again'), 'no-stream', events);
        expect(second).toEqual(repeatedOf(first));
        const third = [someEvent()];
        const once = await log.append(stream('again'), 1n, third);
        await log.append(stream('again'), 2n, [someEvent()]);
        expect(await log.append(stream('again'), 1n, third)).toEqual(repeatedOf(once));
        expect(await log.readStream(stream('again'), 0n, 10)).toHaveLength(4);
      });

      it('stores events only once if another instance has appended them before', async () => {
        const other = await opened.another();
        const events = [someEvent(), someEvent()];
        const first = await log.append(stream('elsewhere'), 'no-stream', events);
        expect(await other.append(stream('elsewhere'), 'no-stream', events)).toEqual(repeatedOf(first));
        expect(await log.readStream(stream('elsewhere'), 0n, 10)).toHaveLength(2);
      });

      it('rejects events of which only some are stored, if the append expects a revision', async () => {
        const [one, two, three] = [someEvent(), someEvent(), someEvent()];
        await log.append(stream('part'), 'no-stream', [one, two]);
        const refusal = await log
          .append(stream('part'), 'no-stream', [one, two, three])
          .catch((error: unknown) => error);
        expect(refusal).toBeInstanceOf(WrongExpectedRevision);
        expect(ids(await log.readStream(stream('part'), 0n, 10))).toEqual(ids([one, two]));
      });
    });

    if (hasExactDuplicates)
      describe('repeating event ids, in a log with exact duplicates', () => {
        it('returns the first result again whatever the expected revision is', async () => {
          const events = [someEvent(), someEvent()];
          const first = await log.append(stream('whatever'), 'no-stream', events);
          await log.append(stream('whatever'), 1n, [someEvent(), someEvent()]);
          for (const expected of ['any', 'no-stream', 0n, 1n, 2n, 3n, 99n] as const)
            expect(await log.append(stream('whatever'), expected, events)).toEqual(repeatedOf(first));
          expect(await log.readStream(stream('whatever'), 0n, 10)).toHaveLength(4);
        });

        it('stores the missing events if some are stored and the append expects "any"', async () => {
          const [one, two, three] = [someEvent(), someEvent(), someEvent()];
          await log.append(stream('finish'), 'any', [one]);
          const finished = await log.append(stream('finish'), 'any', [one, two, three]);
          const events = await log.readStream(stream('finish'), 0n, 10);
          expect(ids(events)).toEqual(ids([one, two, three]));
          expect(finished).toEqual({ revision: 2n, position: events[2]!.position, duplicate: false });
        });

        it('stores an event only once if it occurs twice in one append', async () => {
          const [one, two] = [someEvent(), someEvent()];
          await log.append(stream('twice'), 'no-stream', [one, two, one]);
          expect(ids(await log.readStream(stream('twice'), 0n, 10))).toEqual(ids([one, two]));
        });
      });

    describe('appending to many streams', () => {
      it('returns for each event, in order, its position and whether it was stored before', async () => {
        const [old, older] = [someEvent(), someEvent()];
        await log.append(stream('many-0'), 'any', [older]);
        await log.append(stream('many-1'), 'any', [old]);
        const [a, b, c] = [someEvent(), someEvent(), someEvent()];
        const entries = [
          { stream: stream('many-2'), event: a },
          { stream: stream('many-1'), event: old },
          { stream: stream('many-3'), event: b },
          { stream: stream('many-2'), event: a },
          { stream: stream('many-0'), event: older },
          { stream: stream('many-2'), event: c },
        ];
        const appended = await log.appendAll(entries);
        expectDuplicates(appended, [false, true, false, true, true, false]);
        for (const [at, { position }] of appended.entries())
          expect(await log.has({ position, event: entries[at]!.event.id })).toBe(true);
        expect(ids(await log.readStream(stream('many-2'), 0n, 10))).toEqual(ids([a, c]));
        expect(ids(await log.readStream(stream('many-1'), 0n, 10))).toEqual([old.id]);
        expectDuplicates(
          await log.appendAll(entries),
          entries.map(() => true),
        );
      });

      it('keeps the order of the events of one stream within a call', async () => {
        const events = Array.from({ length: 50 }, (_, n) => someEvent({ n }));
        await log.appendAll(events.map((event, n) => ({ stream: stream(`mixed-${n % 3}`), event })));
        for (const remainder of [0, 1, 2])
          expect(ids(await log.readStream(stream(`mixed-${remainder}`), 0n, 100))).toEqual(
            ids(events.filter((_, n) => n % 3 === remainder)),
          );
      });

      it('appends 1,000 events to 1,000 streams, and stores them once if they are repeated', async () => {
        const before = await log.head();
        const entries = Array.from({ length: 1_000 }, (_, n) => ({
          stream: stream(`thousand-${n}`),
          event: someEvent({ n }),
        }));
        for (const isRepeated of [false, true])
          expectDuplicates(
            await log.appendAll(entries),
            entries.map(() => isRepeated),
          );
        const stored = (await readOn(log, before, 700)).filter((event) => event.stream.startsWith(stream('thousand-')));
        expect(ids(stored).sort()).toEqual(ids(entries.map(({ event }) => event)).sort());
      });

      it('appends more bytes in one call than a store accepts in one request', async () => {
        const text = 'x'.repeat(100_000);
        const entries = Array.from({ length: 30 }, (_, n) => ({
          stream: stream(`large-${n % 2}`),
          event: someEvent({ n, text }),
        }));
        expectDuplicates(
          await log.appendAll(entries),
          entries.map(() => false),
        );
        expect(ids(await log.readStream(stream('large-1'), 0n, 100))).toEqual(
          ids(entries.filter((_, n) => n % 2).map(({ event }) => event)),
        );
      });

      it('stores an event only once if many callers send it at the same time, and reports it as new to one caller', async () => {
        const entries = Array.from({ length: 50 }, (_, n) => ({
          stream: stream(`crowd-${n}`),
          event: someEvent({ n }),
        }));
        const answers = await Promise.all(Array.from({ length: 8 }, () => log.appendAll(entries)));
        for (const at of entries.keys()) {
          const accepted = answers.filter((appended) => !appended[at]!.duplicate).length;
          expect(accepted).toBeGreaterThanOrEqual(1);
          if (hasExactDuplicates) expect(accepted).toBe(1);
        }
        expect(await log.readStream(stream('crowd-7'), 0n, 10)).toHaveLength(1);
      });

      it('returns an empty list for no events', async () => {
        expect(await log.appendAll([])).toEqual([]);
      });
    });

    describe('a stored event', () => {
      it('has its id, type, data and metadata, and the time at which it was stored', async () => {
        const event = someEvent({ organization: 'a' }, { source: 'urn:test', id: '1', time: '2026-01-01T00:00:00Z' });
        const before = Date.now();
        await log.append(stream('kept'), 'no-stream', [event]);
        const [storedEvent] = await log.readStream(stream('kept'), 0n, 1);
        expect(storedEvent).toMatchObject({ ...event, stream: stream('kept'), revision: 0n });
        expect(typeof storedEvent!.position).toBe('bigint');
        expect(Number.isSafeInteger(storedEvent!.recordedAt)).toBe(true);
        // The store has a clock of its own, perhaps on another machine.
        expect(Math.abs(storedEvent!.recordedAt - before)).toBeLessThan(60_000);
      });

      it('keeps every kind of JSON value in data and metadata', async () => {
        const data = {
          nothing: null,
          yes: true,
          no: false,
          empty: {},
          none: [],
          '': 'an empty name',
          'a.b': { $type: 'x', constructor: 1, '@': [[[[1]], {}]] },
          numbers: [0, -1, 1.5, 1e-7, 1e21, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 0.1],
          texts: ['', ' ', '\n\t\r\b\f', '"\\/', '\u0001\u001f\u007f', '\u2028\u2029', '\ufeff', '\uffff'],
          unicode: ['äöüß', '日本語', 'العربية', '👩‍👩‍👧‍👦', 'e\u0301', '\u{10ffff}', 'ﬁ', 'İ'],
          deep: JSON.parse(`${'['.repeat(60)}1${']'.repeat(60)}`) as unknown,
        };
        await log.append(stream('json'), 'no-stream', [someEvent(data, data)]);
        const [storedEvent] = await log.readStream(stream('json'), 0n, 1);
        expect(storedEvent!.data).toEqual(data);
        expect(storedEvent!.metadata).toEqual(data);
      });

      it('lacks properties that were undefined', async () => {
        await log.append(stream('undefined'), 'no-stream', [someEvent({ a: undefined, b: [1], c: 2 })]);
        const [storedEvent] = await log.readStream(stream('undefined'), 0n, 1);
        expect(storedEvent!.data).toStrictEqual({ b: [1], c: 2 });
      });

      it('may be half a mebibyte large', async () => {
        const event = someEvent({ text: 'é'.repeat(262_000) });
        await log.append(stream('half'), 'no-stream', [event]);
        const [storedEvent] = await log.readStream(stream('half'), 0n, 1);
        expect(storedEvent!.data).toEqual(event.data);
      });
    });

    describe('reading', () => {
      it('returns a stream page by page from a revision on', async () => {
        const events = Array.from({ length: 25 }, (_, n) => someEvent({ n }));
        await log.append(stream('pages'), 'no-stream', events);
        const pages = [];
        for (const from of [0n, 10n, 20n, 25n]) pages.push(ids(await log.readStream(stream('pages'), from, 10)));
        expect(pages.map((page) => page.length)).toEqual([10, 10, 5, 0]);
        expect(pages.flat()).toEqual(ids(events));
        expect(await log.readStream(stream('pages'), 1_000n, 10)).toEqual([]);
      });

      it('returns no events of a stream that does not exist', async () => {
        expect(await log.readStream(stream('never'), 0n, 10)).toEqual([]);
        expect(await log.readStream(stream('never'), 7n, 10)).toEqual([]);
      });

      it('returns the whole log in order of position, whatever the page size', async () => {
        const before = await log.head();
        for (let n = 0; n < 12; n++) await log.append(stream(`whole-${n % 5}`), 'any', [someEvent(), someEvent()]);
        const mine = (events: RecordedEvent[]) => ids(events.filter((event) => event.stream.includes(organization)));
        const whole = await readOn(log, before, 1_000);
        expect(mine(whole)).toHaveLength(24);
        for (const [at, event] of whole.entries())
          if (at > 0) expect(event.position).toBeGreaterThan(whole[at - 1]!.position);
        for (const limit of [1, 7, 24])
          expect(mine(await readOn(log, before, limit)).slice(0, 24)).toEqual(mine(whole));
      });

      it('ends a page of large events at 8 MiB, and delivers every event to readers and followers', async () => {
        const before = await log.head();
        const large = Array.from({ length: 20 }, (_, n) => someEvent({ n, text: 'é'.repeat(450_000) }));
        await log.appendAll(large.map((event) => ({ stream: stream('large'), event })));
        const expectPage = (events: readonly RecordedEvent[]): void => {
          const beforeLastTwo = events.slice(0, -2).reduce((sum, { data }) => sum + sizeOf(data), 0);
          expect(beforeLastTwo).toBeLessThan(MAX_PAGE_BYTES);
        };
        const page = await log.readAll(before, 1_000);
        expectPage(page);
        expect(page.length).toBeGreaterThanOrEqual(10);
        const whole = (await readOn(log, before, 1_000)).filter((event) => event.stream === stream('large'));
        expect(ids(whole)).toEqual(ids(large));
        const startedAt = Date.now();
        const { seen, batches, stop } = follow(log, before, organization);
        await eventually('the follower has caught up', () => (batches.at(-1)?.asOf ?? 0) > startedAt);
        await stop();
        expect(ids(seen)).toEqual(ids(large));
        for (const { events } of batches) expectPage(events);
      });

      it('excludes the event at the given position', async () => {
        const one = await log.append(stream('after'), 'no-stream', [someEvent()]);
        const two = await log.append(stream('after'), 0n, [someEvent()]);
        const events = await log.readAll(one.position, 1_000);
        expect(events.every(({ position }) => position > one.position)).toBe(true);
        expect(events.map(({ position }) => position)).toContain(two.position);
      });

      it('returns a head that no event of the log is after, and no events after the head', async () => {
        const before = await log.head();
        const { position } = await log.append(stream('end'), 'any', [someEvent()]);
        const head = await log.head();
        expect(head).toBeGreaterThanOrEqual(position);
        expect((await readOn(log, before, 100)).every((event) => event.position <= head)).toBe(true);
        for (const event of await log.readAll(head, 10)) expect(event.stream).not.toContain(organization);
      });
    });

    describe('looking for events', () => {
      it('returns stored events by id in the order of the request, and undefined for unknown ids', async () => {
        const { log } = opened;
        const organization = ownOrganization();
        const streams = [`threat-${organization}:a`, `threat-${organization}:b`] as const;
        const events = [1, 2, 3].map((n) => someEvent({ n }, { n }));
        const [first, second, third] = events as [NewEvent, NewEvent, NewEvent];
        const { position } = await log.append(streams[0], 'any', [first]);
        await log.append(streams[0], 'any', [second]);
        await log.append(streams[1], 'any', [third]);
        const found = await log.find([
          { stream: streams[1], id: third.id },
          { stream: streams[0], id: randomUUID() },
          { stream: `threat-${organization}:none`, id: randomUUID() },
          { stream: streams[0], id: first.id },
          { stream: streams[0], id: first.id },
        ]);
        expect(found.map((event) => event?.metadata)).toEqual([{ n: 3 }, undefined, undefined, { n: 1 }, { n: 1 }]);
        const [storedEvent] = await log.readStream(streams[0], 0n, 1);
        expect(found[3]).toMatchObject({ position, recordedAt: storedEvent!.recordedAt });
        expect(await log.find([])).toEqual([]);
      });
    });

    describe('the id of the log', () => {
      it('is in the first event of the log', async () => {
        expect(BEGINNING).toBe(-1n);
        const [first] = await log.readAll(BEGINNING, 1);
        expect(first).toMatchObject({ stream: 'operations', revision: 0n, type: 'LogOpened' });
        expect(first!.data).toMatchObject({ logId: await log.id() });
      });

      it('is the same for every instance, even if several open a new log at the same time', async () => {
        const fresh = await open();
        try {
          const instances = [fresh.log, ...(await Promise.all(Array.from({ length: 5 }, () => fresh.another())))];
          const logIds = await Promise.all(instances.map((instance) => instance.id()));
          expect(new Set(logIds).size).toBe(1);
          expect(logIds[0]).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
          const opening = (await fresh.log.readStream('operations', 0n, 100)).filter(
            ({ type }) => type === 'LogOpened',
          );
          expect(opening).toHaveLength(1);
        } finally {
          await fresh.close();
        }
      });

      it('belongs to a log that states the unit of its positions', () => {
        expect(['events', 'bytes']).toContain(log.positionUnit);
      });
    });

    describe('several instances', () => {
      it('read events of each other as soon as the append has returned', async () => {
        const other = await opened.another();
        for (let n = 0; n < 20; n++) {
          const { position } = await (n % 2 ? log : other).append(
            stream('shared'),
            BigInt(n) - 1n < 0n ? 'no-stream' : BigInt(n) - 1n,
            [someEvent({ n })],
          );
          const reader = n % 2 ? other : log;
          expect(await reader.readStream(stream('shared'), BigInt(n), 1)).toMatchObject([{ position, data: { n } }]);
          expect(await reader.head()).toBeGreaterThanOrEqual(position);
        }
      });
    });

    describe('following', () => {
      it('delivers every event once and in order while sixteen writers append', async () => {
        const other = await opened.another();
        const mine = ownOrganization();
        const after = await log.head();
        const acknowledgedAtById = new Map<string, number>();
        const delivered = new Set<string>();
        const late: string[] = [];
        const checkAsOf = (batch: Batch): void => {
          for (const { id } of batch.events) delivered.add(id);
          for (const [id, at] of acknowledgedAtById) if (at < (batch.asOf ?? 0) && !delivered.has(id)) late.push(id);
        };
        const followers = [follow(log, after, mine, checkAsOf), follow(other, after, mine)];
        await Promise.all(
          Array.from({ length: WRITERS }, async (_, writer) => {
            const instance = writer % 2 ? log : other;
            for (let n = 0; n < WRITES_EACH; n++) {
              const events = Array.from({ length: 1 + ((writer + n) % 3) }, () => someEvent({ writer, n }));
              if (n % 4 === 0)
                await instance.appendAll(
                  events.map((event, at) => ({ stream: `report-${mine}:${writer}-${at}`, event })),
                );
              else await instance.append(`threat-${mine}:${writer}`, 'any', events);
              for (const { id } of events) acknowledgedAtById.set(id, Date.now());
            }
          }),
        );
        const last = someEvent();
        await log.append(`threat-${mine}:last`, 'any', [last]);
        acknowledgedAtById.set(last.id, Date.now());
        const stored = (await readOn(log, after, 500)).filter((event) => event.stream.includes(mine));
        expect(ids(stored).sort()).toEqual([...acknowledgedAtById.keys()].sort());
        for (const { seen } of followers)
          await eventually('the last event is delivered', () => seen.some(({ id }) => id === last.id));
        for (const { seen, batches, stop } of followers) {
          await stop();
          expect(seen).toEqual(stored);
          for (const [at, { position, events }] of batches.entries())
            expect(position).toBeGreaterThanOrEqual(events.at(-1)?.position ?? batches[at - 1]?.position ?? after);
          // No later batch has an event at or before the position of a batch.
          for (const [at, { events }] of batches.entries())
            if (at > 0 && events.length > 0) expect(events[0]!.position).toBeGreaterThan(batches[at - 1]!.position);
        }
        expect(late).toEqual([]);
      });

      it('begins after the given position', async () => {
        const mine = ownOrganization();
        const appended = [];
        for (let n = 0; n < 6; n++) appended.push(await log.append(`threat-${mine}:a`, 'any', [someEvent({ n })]));
        for (const [skipped, after] of [
          [0, BEGINNING],
          [3, appended[2]!.position],
          [6, appended[5]!.position],
        ] as const) {
          const { seen, batches, stop } = follow(log, after, mine);
          const startedAt = Date.now();
          await eventually('the follower has caught up', () => (batches.at(-1)?.asOf ?? 0) > startedAt);
          await stop();
          expect(seen.map(({ revision }) => revision)).toEqual([0n, 1n, 2n, 3n, 4n, 5n].slice(skipped));
        }
      });

      it('delivers empty batches with an increasing `asOf` while nothing is appended', async () => {
        const { batches, stop } = follow(log, await log.head(), organization);
        await eventually(
          'four empty batches are delivered',
          () => batches.filter(({ events }) => events.length === 0).length >= 4,
        );
        const startedAt = Date.now();
        await eventually('the last batch has a later asOf', () => (batches.at(-1)!.asOf ?? 0) > startedAt);
        await stop();
        const known = batches.flatMap(({ asOf }) => (asOf === undefined ? [] : [asOf]));
        expect(known).toEqual([...known].sort((a, b) => a - b));
      });

      it('reports an `asOf` only once every event acknowledged before that instant has been delivered', async () => {
        const mine = ownOrganization();
        const { seen, batches, stop } = follow(log, await log.head(), mine);
        for (let n = 0; n < 5; n++) {
          await log.append(`threat-${mine}:a`, 'any', [someEvent({ n })]);
          const acknowledgedAt = Date.now();
          await eventually(
            'a batch has an asOf after the acknowledgement',
            () => (batches.at(-1)?.asOf ?? 0) > acknowledgedAt,
          );
          expect(seen).toHaveLength(n + 1);
        }
        await stop();
      });

      it('delivers the next batch only once the receiver has finished the previous one', async () => {
        const mine = ownOrganization();
        const abort = new AbortController();
        let running = 0;
        let maxRunning = 0;
        const seen: string[] = [];
        const finished = log.subscribe(
          await log.head(),
          async ({ events }) => {
            maxRunning = Math.max(maxRunning, ++running);
            await log.head();
            seen.push(...ids(events.filter((event) => event.stream.includes(mine))));
            running--;
          },
          abort.signal,
        );
        const events = Array.from({ length: 60 }, () => someEvent());
        for (const event of events) await log.append(`threat-${mine}:a`, 'any', [event]);
        await eventually('all events are delivered', () => seen.length >= events.length);
        abort.abort();
        await finished;
        expect(seen).toEqual(ids(events));
        expect(maxRunning).toBe(1);
      });

      it('ends when it is aborted, and delivers nothing more', async () => {
        const { batches, stop } = follow(log, BEGINNING, organization);
        await eventually('the follower has received a batch', () => batches.length > 0);
        await stop();
        const count = batches.length;
        await followedByAnother(log, stream('quiet'));
        expect(batches).toHaveLength(count);
      });

      it('delivers nothing if it was aborted before it began', async () => {
        let called = 0;
        await log.subscribe(BEGINNING, async () => void called++, AbortSignal.abort());
        expect(called).toBe(0);
      });

      it('rejects with the error of the receiver, and delivers nothing more', async () => {
        const failure = new Error('cannot take it');
        let called = 0;
        const following = log.subscribe(
          BEGINNING,
          async () => {
            called++;
            throw failure;
          },
          new AbortController().signal,
        );
        await expect(following).rejects.toBe(failure);
        const calledThen = called;
        await followedByAnother(log, stream('unwanted'));
        expect(called).toBe(calledThen);
        expect(called).toBe(1);
      });
    });
  });
};
