import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type Batch, BEGINNING, type EventLog, type NewEvent } from '../../../src/event-log/event-log.js';
import { EndOfLog } from '../../../src/event-log/eventstoredb/catch-up-subscription.js';
import { createEventStoreDbLog } from '../../../src/event-log/eventstoredb/log.js';
import { eventually } from '../../support/eventually.js';
import { PAGE_SIZE } from '../../support/eventstore-double/catch-up-pages.js';
import { EventStoreDouble } from '../../support/eventstore-double/server.js';
import { thisClock } from '../../support/this-clock.js';

describe('The instant up to which every event has been delivered', () => {
  let end: EndOfLog;
  beforeEach(() => {
    jest.useFakeTimers();
    end = new EndOfLog(0n);
  });
  afterEach(() => void jest.useRealTimers());

  /** Observes the end of the log; every event up to that end has been delivered. */
  const observe = (
    connections: number,
    tookMs = 1,
  ): { readonly requestedAt: number; readonly asOf: number | undefined } => {
    const request = { at: Date.now(), now: performance.now(), connections };
    jest.advanceTimersByTime(tookMs);
    end.observe(7n, request);
    return { requestedAt: request.at, asOf: end.deliveredUntil(7n) };
  };

  it('is the time of the request for the end of the log, once everything up to that end has been delivered', () => {
    const request = { at: Date.now(), now: performance.now(), connections: 1 };
    end.observe(7n, request);
    expect(end.deliveredUntil(6n)).toBeUndefined();
    expect(end.deliveredUntil(7n)).toBe(request.at);
  });

  for (const [what, connections, pauseMs] of [
    ['another node', 2, 100],
    ['a node that was silent', 1, 2_500],
  ] as const)
    it(`does not advance until ${what} has led for 5 s, because a node that was frozen may wrongly believe it is the leader`, () => {
      const { asOf } = observe(1);
      jest.advanceTimersByTime(pauseMs);
      for (let waited = 0; waited < 4_900; waited += 700) {
        expect(observe(connections).asOf).toBe(asOf);
        jest.advanceTimersByTime(699);
      }
      jest.advanceTimersByTime(700);
      const later = observe(connections);
      expect(later.asOf).toBe(later.requestedAt);
    });
});

describe('A subscription whose last page was exactly full, so that the server names the place of the next event', () => {
  const stream = 'threat-acme:t';
  const someEvent = (): NewEvent => ({ id: randomUUID(), type: 'ThreatStatusChanged', data: {}, metadata: {} });
  let double: EventStoreDouble;
  let log: EventLog;
  let stops: (() => Promise<void>)[];
  beforeEach(async () => {
    double = await EventStoreDouble.start();
    log = await createEventStoreDbLog(double.url, thisClock);
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops) await stop();
    await log.close();
    await double.stop();
  });

  const follow = (after: bigint) => {
    const ids: string[] = [];
    const batches: Batch[] = [];
    const onBatch = async (batch: Batch): Promise<void> => {
      batches.push(batch);
      ids.push(...batch.events.map(({ id }) => id));
    };
    const abort = new AbortController();
    const finished = log.subscribe(after, onBatch, abort.signal);
    const stop = async (): Promise<void> => {
      abort.abort();
      await finished;
    };
    stops.push(stop);
    return { ids, batches, stop };
  };

  /** Follows a log that has one page, and waits for an empty batch, which arrives after the subscription has caught up. */
  const followFullPage = async () => {
    // The first event of the log is `LogOpened`.
    await log.append(
      stream,
      'any',
      Array.from({ length: PAGE_SIZE - 1 }, () => someEvent()),
    );
    const following = follow(BEGINNING);
    const hasCaughtUp = () => following.ids.length === PAGE_SIZE && following.batches.at(-1)!.events.length === 0;
    await eventually('the subscription has caught up', hasCaughtUp);
    return following;
  };

  it('receives the next event', async () => {
    const { ids } = await followFullPage();
    const next = someEvent();
    await log.append(stream, 'any', [next]);
    await eventually('the next event has arrived', () => ids.includes(next.id));
  });

  it.each(['before', 'after'])(
    'receives the next event after a restart if it was stored %s the restart',
    async (when) => {
      const { batches, stop } = await followFullPage();
      await stop();
      const next = someEvent();
      if (when === 'before') await log.append(stream, 'any', [next]);
      const { ids } = follow(batches.at(-1)!.position);
      if (when === 'after') await log.append(stream, 'any', [next]);
      await eventually('the next event has arrived', () => ids.includes(next.id));
      expect(ids).toEqual([next.id]);
    },
  );
});
