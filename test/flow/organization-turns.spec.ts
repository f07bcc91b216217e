import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TooManyRequests, Unavailable, Unprocessable } from '../../src/errors.js';
import { OrganizationTurns } from '../../src/flow/organization-turns.js';

/** Queries that end when they are told to. */
class Desk {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, (answer: string) => void>();

  readonly query = (name: string) => (): Promise<string> => {
    this.begun.push(name);
    return new Promise((resolve) => this.ends.set(name, resolve));
  };

  async end(name: string): Promise<void> {
    this.ends.get(name)!(`answer ${name}`);
    await nextTurn();
  }
}

const desks: Desk[] = [];
// Only the patience and the rest are timers: the time stands still until a spec advances it.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] }));
afterEach(async () => {
  for (const desk of desks.splice(0)) for (const name of desk.begun) await desk.end(name);
  jest.useRealTimers();
});

const open = (
  limits = { running: 2, waiting: 3, patience: 60_000, rest: 60_000 },
): { desk: Desk; turns: OrganizationTurns } => {
  const desk = new Desk();
  desks.push(desk);
  return { desk, turns: new OrganizationTurns({ name: 'queries', ...limits }) };
};

describe('The turns of an organization', () => {
  it('run two at a time, in the order they came', async () => {
    const { desk, turns } = open();
    const answers = ['a', 'b', 'c', 'd'].map((name) => turns.runInTurn('one', name, desk.query(name)));
    expect(desk.begun).toEqual(['a', 'b']);
    await desk.end('b');
    expect(desk.begun).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c', 'd']) await desk.end(name);
    expect(await Promise.all(answers)).toEqual(['answer a', 'answer b', 'answer c', 'answer d']);
  });

  it('do not wait for other organizations', () => {
    const { desk, turns } = open();
    for (const name of ['a', 'b', 'c']) void turns.runInTurn('noisy', name, desk.query(name));
    void turns.runInTurn('quiet', 'd', desk.query('d'));
    expect(desk.begun).toEqual(['a', 'b', 'd']);
  });

  it('share one run if they are equal and it has not begun', async () => {
    const { desk, turns } = open();
    for (const name of ['a', 'b']) void turns.runInTurn('one', name, desk.query(name));
    const equal = Array.from({ length: 50 }, (_, n) => turns.runInTurn('one', 'c', desk.query(`c${n}`)));
    await desk.end('a');
    await desk.end('c0');
    expect(desk.begun).toEqual(['a', 'b', 'c0']);
    expect(new Set(await Promise.all(equal))).toEqual(new Set(['answer c0']));
  });

  it('never share an answer that was begun before they were asked', () => {
    const { desk, turns } = open();
    void turns.runInTurn('one', 'a', desk.query('a'));
    void turns.runInTurn('one', 'a', desk.query('a, asked later'));
    expect(desk.begun).toEqual(['a', 'a, asked later']);
  });

  it('share nothing without a question', () => {
    const { desk, turns } = open();
    for (const name of ['a', 'b', 'c', 'd']) void turns.runInTurn('one', undefined, desk.query(name));
    void turns.runInTurn('one', undefined, desk.query('e'));
    expect(() => turns.runInTurn('one', undefined, desk.query('f'))).toThrow(
      'Too many queries of this organization are waiting',
    );
  });

  it('are refused if too many different ones wait', () => {
    const { desk, turns } = open();
    for (const name of ['a', 'b', 'c', 'd', 'e']) void turns.runInTurn('one', name, desk.query(name));
    expect(() => turns.runInTurn('one', 'f', desk.query('f'))).toThrow(TooManyRequests);
    void turns.runInTurn('one', 'e', desk.query('e'));
    void turns.runInTurn('another', 'f', desk.query('f'));
    expect(desk.begun).toEqual(['a', 'b', 'f']);
  });

  it('give up if their turn does not come in time, and leave their place', async () => {
    const { desk, turns } = open({ running: 1, waiting: 1, patience: 1_000, rest: 0 });
    void turns.runInTurn('one', 'a', desk.query('a'));
    const refused: unknown[] = [];
    void turns.runInTurn('one', 'b', desk.query('b')).catch((error: unknown) => refused.push(error));
    await jest.advanceTimersByTimeAsync(990);
    expect(refused).toEqual([]);
    await jest.advanceTimersByTimeAsync(10);
    expect(refused).toEqual([expect.any(Unavailable)]);
    const last = turns.runInTurn('one', 'c', desk.query('c'));
    await desk.end('a');
    expect(desk.begun).toEqual(['a', 'c']);
    // A job that has begun may take as long as it needs.
    await jest.advanceTimersByTimeAsync(1_000);
    await desk.end('c');
    expect(await last).toBe('answer c');
  });

  it('make room for the next if one fails', async () => {
    const { desk, turns } = open({ running: 1, waiting: 3, patience: 60_000, rest: 60_000 });
    const failing = turns.runInTurn('one', 'a', () => nextTurn().then(() => Promise.reject(new Error('broken'))));
    void turns.runInTurn('one', 'b', desk.query('b'));
    await expect(failing).rejects.toThrow('broken');
    expect(desk.begun).toEqual(['b']);
  });

  it('keep the turn for a while if the answer would be too large', async () => {
    const { desk, turns } = open({ running: 1, waiting: 3, patience: 60_000, rest: 500 });
    const tooLarge = turns.runInTurn('one', 'a', () => Promise.reject(new Unprocessable('too large')));
    void turns.runInTurn('one', 'b', desk.query('b'));
    await expect(tooLarge).rejects.toThrow('too large');
    await jest.advanceTimersByTimeAsync(490);
    expect(desk.begun).toEqual([]);
    await jest.advanceTimersByTimeAsync(10);
    expect(desk.begun).toEqual(['b']);
  });
});
