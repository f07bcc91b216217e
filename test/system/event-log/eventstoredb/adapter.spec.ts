import { thisClock } from '../../../support/this-clock.js';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import messages from '@eventstore/db-client/generated/streams_pb.js';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigError } from '../../../../src/runtime/config.js';
import { Invalid, Unavailable } from '../../../../src/errors.js';
import { type Batch, BEGINNING, type EventLog, type NewEvent } from '../../../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../../../src/event-log/eventstoredb/log.js';
import { eventually } from '../../../support/eventually.js';
import { EventStoreDouble } from '../../../support/eventstore-double/server.js';
import { TIMEOUT_MS } from '../../../event-log/load.js';

const someEvent = (data: object = { n: 1 }): NewEvent => ({
  id: randomUUID(),
  type: 'ThreatStatusChanged',
  data,
  metadata: {},
});
const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => new Error('It did not fail'),
    (error: unknown) => error as Error,
  );

/** Follows a log from its beginning; `seen` holds the stream name of each event. */
const followStreams = (log: EventLog): { readonly seen: string[]; readonly stop: () => Promise<void> } => {
  const seen: string[] = [];
  const abort = new AbortController();
  const followed = log.subscribe(
    BEGINNING,
    async ({ events }) => void seen.push(...events.map(({ stream }) => stream)),
    abort.signal,
  );
  const stop = (): Promise<void> => {
    abort.abort();
    return followed;
  };
  return { seen, stop };
};

describe('The log in EventStoreDB', () => {
  let double: EventStoreDouble;
  let log: EventLog;
  beforeEach(async () => {
    double = await EventStoreDouble.start();
    log = await createEventStoreDbLog(double.url, thisClock);
  });
  afterEach(async () => {
    await log.close();
    await double.stop();
  });

  describe('rejects before it calls the client', () => {
    const large = { text: 'x'.repeat(1_048_576) };
    for (const [what, event] of [
      ['an event whose id is not a UUID', { ...someEvent(), id: 'not-a-uuid' }],
      ['an event with an empty type', { ...someEvent(), type: '' }],
      ['an event that is larger than the limit of the server', someEvent(large)],
      ['an event whose metadata is larger than the limit of the server', { ...someEvent(), metadata: large }],
    ] as const)
      it(`${what}`, async () => {
        expect(await failureOf(log.append('threat-a:1', 'any', [event]))).toBeInstanceOf(Invalid);
        expect(await failureOf(log.appendAll([{ stream: 'threat-a:1', event }]))).toBeInstanceOf(Invalid);
        expect(double.calls.append).toBe(1);
        await log.append('threat-a:1', 'no-stream', [someEvent()]);
      });

    it('an event whose data is not JSON', async () => {
      const event = someEvent({ n: 1n });
      expect(await failureOf(log.append('threat-a:1', 'any', [event]))).toBeInstanceOf(TypeError);
      expect(double.calls.append).toBe(1);
    });

    it('events that are too large together, unless they are appended one by one', async () => {
      const halves = [someEvent({ text: 'x'.repeat(600_000) }), someEvent({ text: 'x'.repeat(600_000) })];
      expect(await failureOf(log.append('threat-a:1', 'any', halves))).toBeInstanceOf(Invalid);
      const appended = await log.appendAll(halves.map((event) => ({ stream: 'threat-a:1', event })));
      expect(appended.map(({ duplicate }) => duplicate)).toEqual([false, false]);
    });

    it('no event whose size is below the limit although its estimate is above it', async () => {
      const nested = Array.from({ length: 20 }).reduce<object>((inner) => ({ inner }), {});
      const events = [
        someEvent({ text: 'x'.repeat(1_000_000) }),
        someEvent({ nested }),
        someEvent({ left: undefined }),
      ];
      const appended = await log.appendAll(events.map((event) => ({ stream: 'threat-a:1', event })));
      expect(appended.map(({ duplicate }) => duplicate)).toEqual([false, false, false]);
    });

    it('a stream that does not belong to the service', async () => {
      for (const stream of ['$all', 'order-1', 'operations-1', 'threat', ''])
        expect(await failureOf(log.append(stream, 'any', [someEvent()]))).toBeInstanceOf(Invalid);
    });
  });

  it('marks events as JSON and stores every character unchanged', async () => {
    const text = 'ä€😀\u0000"\\\n';
    const event = { ...someEvent({ text, list: [1, null, { a: true }] }), metadata: { text } };
    await log.append('threat-a:1', 'any', [event]);
    const client = EventStoreDBClient.connectionString(double.url);
    for await (const { event: stored } of client.readStream('threat-a:1'))
      expect(stored).toMatchObject({ ...event, isJson: true });
    await client.dispose();
  });

  it('passes events to protobuf as bytes instead of base64', () => {
    const message = new messages.BatchAppendReq.ProposedMessage();
    expect(message.setData('e30=').getData()).toEqual(new Uint8Array(Buffer.from('{}')));
    expect(message.setCustomMetadata('e30=').getCustomMetadata()).toEqual(new Uint8Array(Buffer.from('{}')));
  });

  describe('in a store with streams of other applications', () => {
    it('reads and follows only its own streams', async () => {
      const client = EventStoreDBClient.connectionString(double.url);
      const { seen, stop } = followStreams(log);
      const { position } = await log.append('threat-a:1', 'any', [someEvent()]);
      for (const stream of ['operations-of-others', 'apiKeysOfOthers', 'threat', 'order-1', 'report'])
        for (let n = 0; n < 40; n++) await client.appendToStream(stream, [jsonEvent({ type: 'T', data: { n } })]);
      expect(await log.head()).toBeGreaterThan(position);
      const ours = ['operations', 'threat-a:1'];
      expect((await log.readAll(BEGINNING, 100)).map(({ stream }) => stream)).toEqual(ours);
      expect(await log.readAll(position, 100)).toEqual([]);
      await log.append('threat-a:2', 'any', [someEvent()]);
      expect((await log.readAll(position, 1)).map(({ stream }) => stream)).toEqual(['threat-a:2']);
      await eventually('all events of this service are followed', () => seen.length >= 3, TIMEOUT_MS);
      await stop();
      expect(seen).toEqual([...ours, 'threat-a:2']);
    });

    it('separates two logs in one store by their prefixes', async () => {
      const one = await createEventStoreDbLog(`${double.url}&streamPrefix=one.`, thisClock);
      const two = await createEventStoreDbLog(double.url.replace('?', '?streamPrefix=two.&'), thisClock);
      const event = someEvent();
      await one.append('threat-a:1', 'no-stream', [event]);
      await two.append('threat-a:1', 'no-stream', [event]);
      expect(await one.id()).not.toBe(await two.id());
      expect((await one.readAll(BEGINNING, 10)).map(({ stream }) => stream)).toEqual(['operations', 'threat-a:1']);
      expect(await failureOf(one.append('threat-a:1', 5n, [someEvent()]))).toMatchObject({ stream: 'threat-a:1' });
      expect(await log.readStream('threat-a:1', 0n, 10)).toEqual([]);
      expect(double.store.stream('two.threat-a:1')).toHaveLength(1);
      await one.close();
      await two.close();
    });
  });

  describe('when the store does not answer an append', () => {
    it('rejects the append as unavailable, and stores the event once if the append is repeated with a revision', async () => {
      await log.append('threat-a:1', 'no-stream', [someEvent()]);
      double.unansweredAppends = Infinity;
      const event = someEvent();
      expect(await failureOf(log.append('threat-a:1', 0n, [event]))).toBeInstanceOf(Unavailable);
      double.unansweredAppends = 0;
      double.store.forgetRecentWrites();
      expect(await log.append('threat-a:1', 0n, [event])).toMatchObject({ revision: 1n });
      expect(double.store.stream('threat-a:1')).toHaveLength(2);
    });

    it('reports a repeated event as a duplicate while the store recognises it, and as new once the store stores it again', async () => {
      const event = someEvent();
      const first = await log.append('threat-a:1', 'any', [event]);
      expect(await log.append('threat-a:1', 'any', [event])).toEqual({ ...first, duplicate: true });
      double.store.forgetRecentWrites();
      expect(await log.append('threat-a:1', 'any', [event])).toMatchObject({ revision: 1n, duplicate: false });
      expect(double.store.stream('threat-a:1')).toHaveLength(2);
    });

    it('reports an event as new that another process stored before, and stores it once', async () => {
      const event = someEvent();
      const first = await log.append('threat-a:1', 'any', [event]);
      const other = await createEventStoreDbLog(double.url);
      expect(await other.append('threat-a:1', 'any', [event])).toEqual({ ...first, duplicate: false });
      expect(double.store.stream('threat-a:1')).toHaveLength(1);
      await other.close();
    });

    it('rejects events of which the store knows only some, with any expected revision', async () => {
      const known = someEvent();
      await log.append('threat-a:1', 'any', [known]);
      expect(await failureOf(log.append('threat-a:1', 'any', [known, someEvent()]))).toMatchObject({
        expected: 'any',
        actual: 0n,
      });
      expect(double.store.stream('threat-a:1')).toHaveLength(1);
    });

    it('answers other appends while one append is unanswered', async () => {
      double.unansweredAppends = 1;
      const unanswered = log.append('threat-a:lost', 'any', [someEvent()]);
      let isSettled = false;
      void unanswered.then(() => (isSettled = true));
      await eventually('the server has the append', () => double.unansweredAppends === 0, TIMEOUT_MS);
      await log.append('threat-a:1', 'any', [someEvent()]);
      expect(isSettled).toBe(false);
      await unanswered;
    });

    it('rejects an append in time even if the connection is replaced meanwhile and the new connection is silent too', async () => {
      double.freeze();
      const first = failureOf(log.append('threat-a:1', 'any', [someEvent()]));
      // The elapsed part of the first append's two seconds cannot be observed. After this delay, the second append
      // begins shortly before their end.
      await delay(1_900);
      const from = performance.now();
      expect(await failureOf(log.append('threat-a:2', 'any', [someEvent()]))).toBeInstanceOf(Unavailable);
      expect(performance.now() - from).toBeLessThan(2_600);
      expect(await first).toBeInstanceOf(Unavailable);
      double.unfreeze();
    });

    it('retries the append by itself and stores the event once', async () => {
      double.unansweredAppends = 1;
      const event = someEvent();
      const appended = await log.append('threat-a:1', 'no-stream', [event]);
      expect(appended).toMatchObject({ revision: 0n, duplicate: false });
      expect(double.store.stream('threat-a:1')).toHaveLength(1);
    });
  });

  describe('when the store is not ready', () => {
    it('retries a read that failed', async () => {
      double.unreadableEnds = 2;
      expect(await log.head()).toBe(double.store.records.at(-1)!.position);
    });

    it('names the state of the store in the error', async () => {
      double.busyAppends = Infinity;
      const { cause } = await failureOf(log.append('threat-a:1', 'any', [someEvent()]));
      expect((cause as Error).message).toBe('EventStoreDB is too busy to take more');
    });
  });

  describe('when the client reconnects during a read', () => {
    const stored = someEvent();
    let position: bigint;
    beforeEach(async () => {
      ({ position } = await log.append('threat-a:1', 'any', [stored]));
    });

    /** Another call fails as unavailable, and its retry makes the client reconnect. */
    const reconnect = async (): Promise<void> => {
      double.unreadableEnds = 1;
      await log.head();
    };

    for (const [what, read] of [
      ['a stream', () => log.readStream('threat-a:1', 0n, 10)],
      ['the end of a stream', async () => log.find([{ stream: 'threat-a:1', id: stored.id }])],
      ['an event by its position', async () => [await log.has({ position, event: stored.id })]],
      ['the whole log', () => log.readAll(BEGINNING, 10)],
      ['the head', () => log.head()],
    ] as const)
      it(`repeats the read of ${what}, which the client ends without an error and without events`, async () => {
        const whole = await read();
        double.unansweredReads = 1;
        const repeated = read();
        await eventually('the server has the read', () => double.unansweredReads === 0);
        await reconnect();
        expect(await repeated).toEqual(whole);
        expect(whole).not.toEqual([]);
      });

    it('rejects a read that is cut off repeatedly, instead of returning no events', async () => {
      double.unansweredReads = Infinity;
      const reads = [log.readStream('threat-a:1', 0n, 10), log.head()].map(failureOf);
      double.leader = double.address;
      const append = failureOf(log.append('threat-a:1', 'any', [someEvent()]));
      for (const failure of [...reads, append]) expect(await failure).toBeInstanceOf(Unavailable);
    });
  });

  it('sends pending appends to the new leader if the old leader resigns and drops them', async () => {
    const other = await EventStoreDouble.start(double.store);
    try {
      double.unansweredAppends = 64;
      const entries = Array.from({ length: 64 }, (_, n) => ({ stream: `threat-a:${n}`, event: someEvent() }));
      const appended = log.appendAll(entries);
      await eventually('the appends have been sent', () => double.unansweredAppends === 0, TIMEOUT_MS);
      double.leader = other.address;
      const from = performance.now();
      expect(await appended).toHaveLength(64);
      expect(performance.now() - from).toBeLessThan(1_500);
    } finally {
      await log.close();
      await other.stop();
    }
  });

  it('closes connections that it no longer uses', async () => {
    for (let n = 0; n < 6; n++) {
      await log.append('threat-a:1', 'any', [someEvent()]);
      // The client reconnects, although the stream for appends works.
      double.unreadableEnds = 1;
      await log.head().catch(() => {});
    }
    await log.append('threat-a:1', 'any', [someEvent()]);
    await eventually('the unused connections are closed', () => double.connections <= 2);
    expect(double.connections).toBeGreaterThan(0);
  });

  describe('in a cluster', () => {
    let other: EventStoreDouble;
    let clustered: EventLog;
    beforeEach(async () => {
      other = await EventStoreDouble.start(double.store);
      other.leader = double.address;
      const nodes = [double, other].map(({ address: { host, port } }) => `${host}:${port}`);
      clustered = await createEventStoreDbLog(`esdb://${nodes.join(',')}?tls=false`, thisClock);
    });
    afterEach(async () => {
      await clustered.close();
      await other.stop();
    });

    it('leaves a frozen leader for the new leader although all of its calls are pending', async () => {
      const asOf: number[] = [];
      const abort = new AbortController();
      const followed = clustered.subscribe(BEGINNING, async (batch) => void asOf.push(batch.asOf ?? 0), abort.signal);
      await eventually('the log is up to date', () => (asOf.at(-1) ?? 0) > 0, TIMEOUT_MS);
      double.freeze();
      // Until the cluster has noticed the failure, it names the frozen leader, so the client reconnects to that leader.
      const gossipCalls = other.calls.gossip;
      await eventually(
        'the client has been directed to the frozen leader again',
        () => other.calls.gossip > gossipCalls,
        TIMEOUT_MS,
      );
      other.leader = undefined;
      const elected = Date.now();
      await eventually('the log is up to date again', () => asOf.at(-1)! > elected, TIMEOUT_MS);
      expect(Date.now() - elected).toBeLessThan(10_000);
      await clustered.append('threat-a:1', 'any', [someEvent()]);
      abort.abort();
      await followed;
      double.unfreeze();
    });

    it('reports no `asOf` from a follower whose replication is behind', async () => {
      other.replicatedTo = double.store.records.at(-1)!.position;
      const followers = await createEventStoreDbLog(other.url, thisClock);
      const handed = new Set<string>();
      const answered = new Map<string, number>();
      const missedEvents: string[] = [];
      let batches = 0;
      const abort = new AbortController();
      const followed = followers.subscribe(
        BEGINNING,
        async ({ events, asOf }) => {
          batches += 1;
          for (const { id } of events) handed.add(id);
          for (const [id, at] of answered) if (at < (asOf ?? 0) && !handed.has(id)) missedEvents.push(id);
        },
        abort.signal,
      );
      for (let n = 0; n < 20; n++) {
        const event = someEvent();
        await clustered.append('threat-a:1', 'any', [event]);
        answered.set(event.id, Date.now());
        if (n % 5 !== 4) continue;
        // The client reconnects to the follower repeatedly.
        other.dropConnections();
        const before = batches;
        await eventually('batches still arrive', () => batches >= before + 2, TIMEOUT_MS);
      }
      await eventually('all events are delivered', () => handed.size > answered.size, TIMEOUT_MS);
      expect(missedEvents).toEqual([]);
      abort.abort();
      await followed;
      await followers.close();
    });
  });

  describe('when several callers send the same event at the same time', () => {
    it('sends the repeated event only after the first response, because the server would not answer it', async () => {
      const entries = Array.from({ length: 20 }, (_, n) => ({ stream: `threat-a:${n}`, event: someEvent() }));
      const answers = await Promise.all(Array.from({ length: 5 }, () => log.appendAll(entries)));
      for (const at of entries.keys()) expect(answers.filter((appended) => !appended[at]!.duplicate)).toHaveLength(1);
      expect(double.droppedRepetitions).toBe(0);
    });

    it('retries if another process is storing the event, because the server drops the repeated event meanwhile', async () => {
      double.store.indexAfterMs = 150;
      const client = EventStoreDBClient.connectionString(double.url);
      const event = someEvent();
      const first = client.appendToStream('threat-a:1', [jsonEvent(event as never)]);
      await eventually('the server has the append', () => double.store.stream('threat-a:1') !== undefined, TIMEOUT_MS);
      expect(await log.appendAll([{ stream: 'threat-a:1', event }])).toHaveLength(1);
      await first;
      expect(double.droppedRepetitions).toBeGreaterThan(0);
      expect(double.store.stream('threat-a:1')).toHaveLength(1);
    });
  });

  it('reads and appends while there are many followers and more reads than a connection carries', async () => {
    const aborts = Array.from({ length: 20 }, () => new AbortController());
    const followers = aborts.map(({ signal }) => log.subscribe(BEGINNING, async () => {}, signal));
    await log.append('threat-a:1', 'any', [someEvent()]);
    const reads = await Promise.all(Array.from({ length: 200 }, () => log.readStream('threat-a:1', 0n, 10)));
    expect(reads.every((events) => events.length === 1)).toBe(true);
    await log.append('threat-a:1', 0n, [someEvent()]);
    for (const abort of aborts) abort.abort();
    await Promise.all(followers);
  });

  it('does not advance `asOf` while the store is unavailable', async () => {
    const asOf: number[] = [];
    const abort = new AbortController();
    const followed = log.subscribe(BEGINNING, async (batch) => void asOf.push(batch.asOf ?? 0), abort.signal);
    await eventually('the log is up to date', () => (asOf.at(-1) ?? 0) > 0, TIMEOUT_MS);
    await double.kill();
    const killedAt = Date.now();
    const count = asOf.length;
    await eventually('batches still arrive', () => asOf.length >= count + 4, TIMEOUT_MS);
    expect(asOf.at(-1)).toBeLessThanOrEqual(killedAt);
    await double.restart();
    await eventually('the log is up to date again', () => asOf.at(-1)! > killedAt, TIMEOUT_MS);
    abort.abort();
    await followed;
  });

  it('appends to a store whose clock is an hour ahead', async () => {
    double.clockAheadMs = 3_600_000;
    const appended = await log.append('threat-a:1', 'no-stream', [someEvent()]);
    expect(appended).toMatchObject({ revision: 0n, duplicate: false });
  });

  describe('in a store where other applications write much more', () => {
    const FOREIGN = 6_000;
    const follow = (after: bigint) => {
      const batches: Batch[] = [];
      const abort = new AbortController();
      const followed = log.subscribe(after, async (batch) => void batches.push(batch), abort.signal);
      return {
        batches,
        stop: () => {
          abort.abort();
          return followed;
        },
      };
    };

    it('receives at most the last event of other applications', async () => {
      double.store.appendForeign(FOREIGN);
      const { position } = await log.append('threat-a:1', 'any', [someEvent()]);
      double.store.appendForeign(FOREIGN);
      const before = double.sentForeign;
      expect(await log.head()).toBeGreaterThan(position);
      expect(await log.readAll(BEGINNING, 10)).toHaveLength(2);
      expect(await log.readAll(position, 10)).toEqual([]);
      const { batches, stop } = follow(BEGINNING);
      const askedAt = Date.now();
      await eventually('the log is up to date', () => (batches.at(-1)?.asOf ?? 0) > askedAt, TIMEOUT_MS);
      await stop();
      expect(batches.flatMap(({ events }) => events)).toHaveLength(2);
      expect(double.sentForeign - before).toBeLessThan(100);
    });

    it('reports its position among events of other applications, so that the next start skips them', async () => {
      const { position } = await log.append('threat-a:1', 'any', [someEvent()]);
      for (const count of [5_000, 10]) {
        double.store.appendForeign(count);
        const end = await log.head();
        const { batches, stop } = follow(position);
        await eventually('the end is reached', () => batches.at(-1)?.position === end, TIMEOUT_MS);
        await stop();
        expect(batches.flatMap(({ events }) => events)).toEqual([]);
      }
    });

    it('keeps `asOf` current while other applications write all the time', async () => {
      const { batches, stop } = follow(await log.head());
      const writing = setInterval(() => double.store.appendForeign(7), 5);
      try {
        for (let n = 0; n < 3; n++) {
          await log.append('threat-a:1', 'any', [someEvent()]);
          const answered = Date.now();
          await eventually(
            'the `asOf` of a batch is after the answer',
            () => (batches.at(-1)?.asOf ?? 0) > answered,
            TIMEOUT_MS,
          );
          expect(batches.flatMap(({ events }) => events)).toHaveLength(n + 1);
        }
      } finally {
        clearInterval(writing);
        await stop();
      }
    });
  });

  it('rejects an earlier head if the store still holds the latest event that the process has seen', async () => {
    const { position } = await log.append('threat-a:1', 'any', [someEvent()]);
    double.emptyEnds = 1;
    expect(await failureOf(log.head())).toBeInstanceOf(Unavailable);
    expect(await log.head()).toBe(position);
  });

  it('returns the earlier head of a store that was restored from an older copy', async () => {
    const { position } = await log.append('threat-a:1', 'any', [someEvent()]);
    await log.append('threat-a:1', 'any', [someEvent()]);
    await log.head();
    double.store.truncateAfter(position);
    expect(await log.head()).toBe(position);
  });
});

describe('Opening the log in EventStoreDB', () => {
  const opening = (url: string): Promise<Error> =>
    failureOf(createEventStoreDbLog(url, thisClock).then((log) => log.close().then(() => Promise.resolve(log))));

  it('fails if the store denies access, without the password in the message', async () => {
    const double = await EventStoreDouble.start();
    double.refusesCallers = true;
    const refusal = await opening(double.url.replace('://', '://reader:geheim@'));
    expect(refusal).toBeInstanceOf(ConfigError);
    expect(refusal.message).toMatch(
      /^EVENTSTORE_URL: the event store refuses this user and password \(.*Access Denied\)$/,
    );
    expect(refusal.message).not.toContain('geheim');
    await double.stop();
  });

  describe('that requires user and password, over TLS', () => {
    const knownUser = { name: 'tp', password: 'geheim' };
    let double: EventStoreDouble;
    beforeAll(async () => {
      double = await EventStoreDouble.start(undefined, undefined, knownUser);
      const log = await createEventStoreDbLog(double.url, thisClock);
      await log.append('threat-a:1', 'no-stream', [someEvent()]);
      await log.close();
    });
    afterAll(() => double.stop());

    it('appends, reads and follows as the known user', async () => {
      const log = await createEventStoreDbLog(double.url, thisClock);
      await log.append('threat-a:2', 'no-stream', [someEvent()]);
      const { seen, stop } = followStreams(log);
      await eventually('it follows', () => seen.length >= 3, TIMEOUT_MS);
      await stop();
      expect(seen).toEqual(['operations', 'threat-a:1', 'threat-a:2']);
      await log.close();
    });

    for (const [what, user, mayReadAll, reason] of [
      ['a wrong password', { ...knownUser, password: 'falsch' }, true, 'Unauthenticated'],
      ['an unknown user', { ...knownUser, name: 'somebody' }, true, 'Unauthenticated'],
      ['no user', undefined, true, 'Access Denied'],
      ['a user who may not read $all', knownUser, false, 'Access Denied'],
    ] as const)
      it(`fails with ${what}, without the password in the message`, async () => {
        double.mayReadAll = mayReadAll;
        const refusal = await opening(double.urlFor(user));
        double.mayReadAll = true;
        expect(refusal).toBeInstanceOf(ConfigError);
        expect(refusal.message).toBe(`EVENTSTORE_URL: the event store refuses this user and password (${reason})`);
      });
  });

  it('fails if the address requires TLS and the store does not use it', async () => {
    const double = await EventStoreDouble.start();
    const refusal = await opening(`esdb://${double.address.host}:${double.address.port}`);
    expect(refusal).toBeInstanceOf(ConfigError);
    expect(refusal.message).toMatch(/no trusted connection to the event store .* or set tls=false/);
    await double.stop();
  });

  for (const [url, sentence] of [
    ['esdb://user:geheim@', /EVENTSTORE_URL cannot be used/],
    ['esdb://user:geheim@127.0.0.1:x?tls=false', /EVENTSTORE_URL cannot be used: something else at position/],
    ['esdb://user:geheim@127.0.0.1:1?tls=perhaps', /has a tls that is neither true nor false/],
    ['esdb://user:geheim@127.0.0.1:1?tls=false&tsl=1', /has the unknown option "tsl"/],
    ['esdb://user:geheim@127.0.0.1:1?tls=false&nodePreference=follower', /nodePreference that is not leader/],
    ['esdb://user:geheim@127.0.0.1:1?tlsVerifyCert=false', /tlsVerifyCert=false, which has no effect/],
    ['esdb://user:geheim@127.0.0.1:1?tlsCAFile=/nowhere.crt', /certificate file/],
    [
      'esdb://user:geheim@127.0.0.1:1?tls=false&streamPrefix=a-b',
      /streamPrefix in EVENTSTORE_URL must be 1 to 32 characters/,
    ],
  ] as const)
    it(`fails for ${url} with a reason and without the password in the message`, async () => {
      const refusal = await opening(url);
      expect(refusal).toBeInstanceOf(ConfigError);
      expect(refusal.message).toMatch(sentence);
      expect(refusal.message).not.toContain('geheim');
    });

  it('waits for a store that is still starting', async () => {
    const double = await EventStoreDouble.start();
    await double.kill();
    let refused = 0;
    const silentServer = createServer((socket) => {
      refused += 1;
      socket.destroy();
    }).listen(double.address.port, double.address.host);
    const opened = createEventStoreDbLog(double.url, thisClock);
    await eventually('the store has been called without success', () => refused > 1);
    await new Promise((resolve) => silentServer.close(resolve));
    await double.restart();
    const log = await opened;
    expect(await log.id()).toMatch(/^[0-9a-f-]{36}$/);
    await log.close();
    await double.stop();
  });

  it('replaces a client that has cached a failure', async () => {
    const double = await EventStoreDouble.start();
    double.failingFeatureCalls = 1;
    const log = await createEventStoreDbLog(double.url, thisClock);
    await log.append('threat-a:1', 'no-stream', [someEvent()]);
    expect(double.store.stream('threat-a:1')).toHaveLength(1);
    await log.close();
    await double.stop();
  });
});
