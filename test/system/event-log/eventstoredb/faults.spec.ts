import { randomUUID } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { EventStoreDBClient, jsonEvent, NO_STREAM, streamNameFilter } from '@eventstore/db-client';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Unavailable } from '../../../../src/errors.js';
import type { EventLog } from '../../../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../../../src/event-log/eventstoredb/log.js';
import { eventually } from '../../../support/eventually.js';
import { FAULT_ROUNDS } from '../../../support/event-store.js';
import { EventStoreDouble } from '../../../support/eventstore-double/server.js';
import { Load, TIMEOUT_MS } from '../../../event-log/load.js';

/** A call ends within two seconds, or later if the process has to wait for the processor. */
const MAX_CALL_MS = 3_500;

describe('The log in an EventStoreDB with faults', () => {
  let double: EventStoreDouble;
  let log: EventLog;
  let load: Load;
  const pauses = monitorEventLoopDelay();
  beforeEach(async () => {
    pauses.reset();
    pauses.enable();
    double = await EventStoreDouble.start();
    log = await createEventStoreDbLog(double.url);
    load = await new Load(log).start();
  });
  afterEach(async () => {
    await log.close();
    await double.stop();
  });

  const survives = async (rounds: (round: number) => Promise<void>): Promise<void> => {
    for (let round = 0; round < FAULT_ROUNDS; round++) {
      await load.goOn();
      await rounds(round);
    }
    await load.goOn();
    await load.stop();
    await load.recount();
    expect(load.longestCallMs).toBeLessThan(MAX_CALL_MS + pauses.max / 1e6);
  };

  it('survives kills that close the port: appends fail in time and succeed after the restart', async () => {
    await survives(async () => {
      const failures = load.failures;
      await double.kill();
      await eventually('an append is refused', () => load.failures > failures, TIMEOUT_MS);
      await double.restart();
    });
    expect(load.failures).toBeGreaterThanOrEqual(FAULT_ROUNDS);
  });

  it('survives a server that does not respond: appends fail in time and succeed once it responds again', async () => {
    await survives(async () => {
      const failures = load.failures;
      double.freeze();
      await eventually('an append has failed', () => load.failures > failures, TIMEOUT_MS);
      double.unfreeze();
    });
    expect(load.failures).toBeGreaterThanOrEqual(FAULT_ROUNDS);
  });

  it('survives dropped connections', async () => {
    await survives(async () => double.dropConnections());
  });

  it('survives subscriptions that the server ends because the client is too slow', async () => {
    await survives(async () => {
      const subscriptions = double.calls.subscribe;
      double.callConsumersTooSlow();
      await eventually('the log is followed again', () => double.calls.subscribe > subscriptions, TIMEOUT_MS);
    });
  });

  it('survives subscriptions that end without an error', async () => {
    await survives(async () => {
      const subscriptions = double.calls.subscribe;
      double.endSubscriptions();
      await eventually('the log is followed again', () => double.calls.subscribe > subscriptions, TIMEOUT_MS);
    });
  });

  it('survives a subscription that stays open and delivers nothing more', async () => {
    await load.goOn();
    double.forgetSubscriptions();
    await eventually('the log is followed again', () => double.calls.subscribe >= 2, TIMEOUT_MS);
    await load.stop();
    await load.recount();
  });

  it('survives changes of the leader', async () => {
    const other = await EventStoreDouble.start(double.store);
    try {
      let [leading, following] = [double, other];
      await survives(async () => {
        [leading, following] = [following, leading];
        leading.leader = undefined;
        following.leader = leading.address;
        const appendsBefore = leading.calls.append;
        await eventually('the new leader accepts appends', () => leading.calls.append > appendsBefore, TIMEOUT_MS);
      });
    } finally {
      await other.stop();
    }
  });

  it('survives a server that is briefly too busy', async () => {
    await survives(async () => {
      double.busyAppends = 20;
    });
    expect(load.failures).toBe(0);
  });
});

describe('The client without the adapter', () => {
  let double: EventStoreDouble;
  let client: EventStoreDBClient;
  const append = (stream: string) =>
    client.appendToStream(stream, [jsonEvent({ id: randomUUID(), type: 'T', data: {} })], {
      expectedRevision: NO_STREAM,
    });
  /** Follows the log with the client's subscription, without the precautions of the adapter. */
  const follow = () => {
    const seen: string[] = [];
    const subscription = client.subscribeToAll({ filter: streamNameFilter({ prefixes: ['threat-'] }) });
    subscription.on('data', ({ event }) => seen.push(event!.streamId));
    subscription.on('error', () => {});
    return { seen, subscription };
  };

  beforeEach(async () => {
    double = await EventStoreDouble.start();
    client = EventStoreDBClient.connectionString(double.url);
  });
  afterEach(async () => {
    await client.dispose().catch(() => {});
    await double.stop();
  });

  for (const [fault, commit] of [
    ['a drop', async () => double.dropConnections()],
    ['a kill and restart', async () => double.kill().then(() => double.restart())],
    ['the server ends it because the client is too slow', async () => double.callConsumersTooSlow()],
    ['an end without an error', async () => double.endSubscriptions()],
    ['the server stops sending', async () => double.forgetSubscriptions()],
  ] as const)
    it(`never delivers later events to a subscription after ${fault}`, async () => {
      const { seen } = follow();
      await append('threat-a:before');
      await eventually('the first event is there', () => seen.length === 1, TIMEOUT_MS);
      await commit();
      let last = '';
      const appendAgain = (): Promise<boolean> =>
        append((last = `threat-a:${randomUUID()}`)).then(
          () => true,
          () => false,
        );
      await eventually('an append succeeds again', appendAgain, TIMEOUT_MS);
      const anew = follow();
      await eventually('a new subscription receives the event', () => anew.seen.includes(last), TIMEOUT_MS);
      expect(seen).toEqual(['threat-a:before']);
    });

  it('leaves an append to a silent server pending after the adapter has rejected its own', async () => {
    await append('threat-a:before');
    const log = await createEventStoreDbLog(double.url);
    double.freeze();
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    void append('threat-a:silent').then(settle, settle);
    await expect(
      log.append('threat-a:beside', 'any', [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }]),
    ).rejects.toBeInstanceOf(Unavailable);
    expect(isSettled).toBe(false);
    double.unfreeze();
    await log.close();
  });

  it('rejects an append after the leader has changed', async () => {
    await append('threat-a:before');
    const other = await EventStoreDouble.start(double.store);
    double.leader = other.address;
    await expect(append('threat-a:moved')).rejects.toMatchObject({ type: 'not-leader' });
    await client.dispose();
    await other.stop();
  });

  it('stores an event twice if it is appended with any revision and the server has forgotten its id', async () => {
    const event = jsonEvent({ id: randomUUID(), type: 'T', data: {} });
    await client.appendToStream('threat-a:twice', [event]);
    await client.appendToStream('threat-a:twice', [event]);
    expect(double.store.stream('threat-a:twice')).toHaveLength(1);
    double.store.forgetRecentWrites();
    await client.appendToStream('threat-a:twice', [event]);
    expect(double.store.stream('threat-a:twice')).toHaveLength(2);
  });
});
