import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { runTogether } from '../../../projections/engine/run-together.js';
import { Unavailable } from '../../../src/errors.js';
import { metrics } from '../../../projections/metrics/projection.js';
import { register } from '../../../projections/register/projection.js';
import type { Projection } from '../../../projections/engine/projection.js';
import { eventually } from '../../support/eventually.js';
import { newDatabase, newLogs } from '../../support/open-for-tests.js';
import { projectToHead } from '../../support/projecting.js';
import { recordedInOrder, sentThreat, stored } from '../../support/upstream.js';

const database = newDatabase();
const logs = newLogs();

/** Stored in batches of one event each. */
const EVENTS = 20;

/** A projection that applies nothing while it is held. */
const newHeldProjection = () => {
  const state = { isHeld: true, batches: 0 };
  const prepare = async (...given: Parameters<typeof register.prepare>) => {
    state.batches += 1;
    while (state.isHeld) await sleep(5);
    return register.prepare(...given);
  };
  return { state, projection: { ...register, prepare } as Projection };
};

it('A projection that is new catches up while the others go on, and then shares their transactions', async () => {
  const threats = Array.from({ length: EVENTS }, (_, n) => sentThreat(`t-${n}`, { organization: 'acme' }));
  const log = await logs.create(recordedInOrder(threats), () => 1);
  expect(await projectToHead(log, database.pool, [metrics])).toEqual([]);
  const slow = newHeldProjection();
  const reached = async (): Promise<Record<string, number>> => {
    const text = 'select projection as name, position, xmin::text as writer from read.checkpoints';
    const { rows } = await database.pool.query<{ name: string; position: string; writer: string }>(text);
    return Object.fromEntries(
      rows.flatMap(({ name, position, writer }) => [
        [name, Number(position)],
        [`${name} by`, Number(writer)],
      ]),
    );
  };
  const stop = new AbortController();
  const running = runTogether([metrics, slow.projection], { pool: database.pool, log, onError: () => {} }, stop.signal);
  try {
    await eventually('the new projection has begun', () => slow.state.batches > 0);
    await log.appendAll([stored(sentThreat('later', { organization: 'acme' }))]);
    await eventually('the metrics have the event', async () => (await reached())['metrics'] === EVENTS);
    expect((await reached())['register']).toBe(-1);
    slow.state.isHeld = false;
    await eventually('the new projection has caught up', async () => (await reached())['register'] === EVENTS);
    await eventually('an event is applied in one transaction', async () => {
      await log.appendAll([stored(sentThreat(`next-${Math.random()}`, { organization: 'acme' }))]);
      const { metrics: position, register: other, ...writers } = await reached();
      return position === other && writers['metrics by'] === writers['register by'];
    });
  } finally {
    slow.state.isHeld = false;
    stop.abort();
    await running;
  }
});

it('Positions are read again after a failure, at the start and while a projection catches up', async () => {
  const threats = Array.from({ length: EVENTS }, (_, n) => sentThreat(`t-${n}`, { organization: 'acme' }));
  const log = await logs.create(recordedInOrder(threats), () => 1);
  expect(await projectToHead(log, database.pool, [metrics])).toEqual([]);
  let failures = 1;
  const head = log.head.bind(log);
  log.head = async () => {
    if (failures-- > 0) throw new Unavailable('away', 1);
    return head();
  };
  const slow = newHeldProjection();
  const errors: string[] = [];
  const onError = (sentence: string): void => void errors.push(sentence);
  const stop = new AbortController();
  const running = runTogether([metrics, slow.projection], { pool: database.pool, log, onError }, stop.signal);
  try {
    for (const count of [1, 2]) {
      await eventually('the positions cannot be read', () => errors.length === count);
      failures = count === 1 ? 1 : 0;
    }
    slow.state.isHeld = false;
    await eventually('the new projection has caught up', async () => {
      const { rows } = await database.pool.query(
        `select position::int from read.checkpoints where projection = 'register'`,
      );
      return rows[0].position === EVENTS - 1;
    });
  } finally {
    slow.state.isHeld = false;
    stop.abort();
    await running;
  }
  expect(errors).toEqual([1, 2].map(() => expect.stringContaining('The positions of the projections cannot be read')));
});
