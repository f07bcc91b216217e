import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { copyLog, type CopyProgress } from '../../src/event-log/copy-log.js';
import { Conflict, Invalid } from '../../src/errors.js';
import { BEGINNING, type EventLog, type RecordedEvent } from '../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { createPool } from '../../src/postgres/pool.js';
import { EventStoreDouble } from '../support/eventstore-double/server.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase, type TestDatabase, NO_LIMITS } from '../support/postgres.js';

const EVENTS = 130;
const PAGE = 50;
const STREAMS = 12;

const someEvent = (n: number) => ({
  id: randomUUID(),
  type: 'ThreatStatusChanged',
  data: { z: n, a: { y: [1, { x: null }], b: 'ä' } },
  metadata: { source: 'urn:test', n },
});
/** The part of an event that a copy keeps. */
const copiedPart = ({ stream, revision, id, type, data, metadata }: RecordedEvent) => ({
  stream,
  revision,
  id,
  type,
  data,
  metadata,
});

describe('log copy', () => {
  let database: TestDatabase;
  let source: EventLog;
  let double: EventStoreDouble;
  let target: EventLog;
  beforeEach(async () => {
    database = await createDatabase();
    source = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
    double = await EventStoreDouble.start();
    target = await createEventStoreDbLog(double.url);
    await source.appendAll(
      Array.from({ length: EVENTS }, (_, n) => ({ stream: `threat-a:${n % STREAMS}`, event: someEvent(n) })),
    );
    await source.append('operations', 0n, [{ ...someEvent(0), type: 'ParkedEventDropped' }]);
  });
  afterEach(async () => {
    await target.close();
    await double.stop();
    await source.close();
    await database.drop();
  });
  const contents = async (log: EventLog) => (await log.readAll(BEGINNING, EVENTS + 10)).slice(1).map(copiedPart);

  it('copies every event in order and reports the progress', async () => {
    const progress: CopyProgress[] = [];
    expect(await copyLog(source, target, (soFar) => progress.push(soFar), PAGE)).toEqual({
      events: EVENTS + 1,
      copied: EVENTS + 1,
    });
    expect(await contents(target)).toEqual(await contents(source));
    expect(progress.map(({ phase }) => phase)).toEqual([
      ...Array.from({ length: 3 }, () => 'copying'),
      ...Array.from({ length: 2 }, () => 'verifying'),
    ]);
    expect(progress.filter(({ phase }) => phase === 'copying').at(-1)).toMatchObject({
      events: EVENTS + 1,
      fraction: 1,
    });
    expect(progress.at(-1)).toMatchObject({ events: EVENTS + 1, fraction: 1 });
  });

  it('does not copy the id of the log, because positions differ', async () => {
    const before = await target.id();
    await copyLog(source, target);
    expect(await target.id()).toBe(before);
    expect(before).not.toBe(await source.id());
  });

  it('continues where an interrupted copy stopped, and copies nothing when it is repeated', async () => {
    const stopped = new Error('stopped');
    let pages = 0;
    const first = copyLog(
      source,
      target,
      () => {
        if (++pages === 2) throw stopped;
      },
      PAGE,
    );
    await expect(first).rejects.toBe(stopped);
    double.store.forgetRecentWrites();
    const { copied } = await copyLog(source, target, undefined, PAGE);
    expect(copied).toBe(EVENTS + 1 - (2 * PAGE - 1));
    const appends = double.calls.append;
    expect(await copyLog(source, target, undefined, PAGE)).toEqual({ events: EVENTS + 1, copied: 0 });
    expect(double.calls.append - appends).toBeLessThan(2 * PAGE);
    expect(await contents(target)).toEqual(await contents(source));
  });

  it('continues after the target has dropped the connection', async () => {
    let pages = 0;
    await copyLog(
      source,
      target,
      () => {
        if (++pages >= 3) return;
        // The first append of the next page is stored, and the response to it is lost.
        const stopListening = double.store.onAppended(() => {
          stopListening();
          double.dropConnections();
        });
      },
      PAGE,
    );
    const byId = (events: Awaited<ReturnType<typeof contents>>) => events.sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(byId(await contents(target))).toEqual(byId(await contents(source)));
  });

  it('rejects a target that holds other events in a stream of the log', async () => {
    await target.append('threat-a:3', 'no-stream', [someEvent(0)]);
    const refusal = copyLog(source, target);
    await expect(refusal).rejects.toBeInstanceOf(Conflict);
    await expect(refusal).rejects.toThrow(/Stream threat-a:3 of the target is at \d+/);
  });

  it('rejects a target that holds more or other events', async () => {
    await target.append('threat-b:1', 'no-stream', [someEvent(0)]);
    await expect(copyLog(source, target)).rejects.toThrow(`has ${EVENTS + 2} events and the source ${EVENTS + 1}`);
    await source.append('threat-b:2', 'no-stream', [someEvent(0)]);
    await expect(copyLog(source, target)).rejects.toBeInstanceOf(Conflict);
  });

  it('rejects a copy of a log into itself', async () => {
    await expect(copyLog(target, target)).rejects.toBeInstanceOf(Invalid);
  });

  it('copies from one EventStoreDB to another', async () => {
    await copyLog(source, target);
    const third = await createEventStoreDbLog(`${double.url}&streamPrefix=copy.`);
    expect(await copyLog(target, third)).toEqual({ events: EVENTS + 1, copied: EVENTS + 1 });
    expect(await contents(third)).toEqual(await contents(source));
    await third.close();
  });

  it('ends with exit code 2 and names the option if the address is malformed', async () => {
    const env = { DATABASE_URL: database.url, EVENTSTORE_URL: '' };
    const { code, err } = await operatorCall(env, 'log', 'copy', '--to', 'http://127.0.0.1:2113');
    expect(err).toMatch(/--to .*esdb/);
    expect(err).not.toContain('EVENTSTORE_URL');
    expect(code).toBe(2);
  });

  it.each(['postgres://x@127.0.0.1/threats', 'postgres://x:secret@127.0.0.1/threats'])(
    'says that only an EventStoreDB can be the target, not %s',
    async (address) => {
      const { code, err } = await operatorCall({ DATABASE_URL: database.url }, 'log', 'copy', '--to', address);
      expect(code).toBe(2);
      expect(err).toMatch(/^--to must begin with esdb:.*; a log can be copied only into an EventStoreDB\n$/);
    },
  );

  it('refuses a password on the command line', async () => {
    const words = ['log', 'copy', '--to', 'esdb://admin:changeit@127.0.0.1:2113'];
    const { code, err } = await operatorCall({ DATABASE_URL: database.url }, ...words);
    expect(code).toBe(2);
    expect(err).toMatch(/^A password on the command line/);
  });
});
