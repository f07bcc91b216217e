import { expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { dispatchBatch } from '../../../projections/engine/dispatch-batch.js';
import { Decisions } from '../../../projections/engine/decisions.js';
import { PROJECTIONS } from '../../../projections/registry.js';
import type { UpstreamEvent } from '../../../src/events/event.js';
import { EXAMPLES, recordedInOrder, sent } from '../../support/upstream.js';

const none = async (): Promise<undefined> => undefined;
const timeOf = ({ recordedAt }: { recordedAt: number }): number => recordedAt;
const EVENTS = 48;
const COST_MS = 3;

/** Makes reading the property take `COST_MS` of processor time. */
const costly = <T extends object>(item: T, name: keyof T): T => {
  const value = item[name];
  return Object.defineProperty({ ...item }, name, {
    get: () => {
      for (const end = performance.now() + COST_MS; performance.now() < end;);
      return value;
    },
  });
};

/** Counts how often other work of the process could run meanwhile. */
const turnsDuring = async (work: Promise<unknown>): Promise<number> => {
  let turns = 0;
  let isDone = false;
  const done = work.finally(() => void (isDone = true));
  while (!isDone) {
    await setImmediate();
    turns += 1;
  }
  await done;
  return turns;
};

const projections = PROJECTIONS;
const eventsOf = (type: UpstreamEvent['type']) =>
  recordedInOrder(Array.from({ length: EVENTS }, () => sent(type, { ...EXAMPLES[type] })));

it('Other work runs after each event that is costly to decode, so that the transaction of the previous batch does not wait', async () => {
  const events = eventsOf('ThreatStatusChanged').map((event) => costly(event, 'data'));
  const checkpoints = projections.map(({ name }) => ({ projection: name, position: -1n }));
  const turns = await turnsDuring(
    dispatchBatch(projections, checkpoints, { events, position: BigInt(EVENTS), timeOf }, new Decisions(), none),
  );
  expect(turns).toBeGreaterThanOrEqual(EVENTS - 2);
});

it.each([
  ['metrics', 'ThreatStatusChanged'],
  ['register', 'ThreatStatusChanged'],
  ['register', 'AssetStatusChanged'],
  ['asset-statuses', 'AssetStatusChanged'],
  ['asset-groups', 'AssetGrouped'],
] as const)('Other work runs after each event that is costly to prepare for %s: %s', async (name, type) => {
  const projection = projections.find((each) => each.name === name)!;
  const events = eventsOf(type).map(({ data, ...event }) => costly({ ...event, event: { type, data } }, 'event'));
  const turns = await turnsDuring(projection.prepare(events as never, []));
  expect(turns).toBeGreaterThanOrEqual(EVENTS - 2);
});

it('An invalid copy is parked with the place of the original, and copies alone do not hold back newer events', async () => {
  const [event] = eventsOf('ThreatStatusChanged');
  const original = { position: 3n, recordedAt: 5 };
  const places = projections.map(({ name }) => ({ projection: name, position: -1n }));
  const dispatched = async (data: unknown) => {
    const events = [{ ...event!, data, position: 40n, copyOf: original }];
    const parts = await dispatchBatch(projections, places, { events, position: 40n, timeOf }, new Decisions(), none);
    return parts.find(({ projection }) => projection.name === 'register')!;
  };
  expect((await dispatched({})).unreadable).toMatchObject([original]);
  const { events, move } = await dispatched(event!.data);
  expect([events.length, move.isApplying]).toEqual([1, false]);
});
