import { expect, it, jest } from '@jest/globals';
import { table, withProgress } from '../../src/cli/output.js';

it('withProgress prints the last state of each bar when the work ends, even if the work fails', async () => {
  const written: string[] = [];
  const write = (text: string): boolean => written.push(text) > 0;
  const mock = jest
    .spyOn(process, 'stderr', 'get')
    .mockReturnValue(Object.create(process.stderr, { write: { value: write }, isTTY: { value: false } }));
  try {
    const work = withProgress({ events: 'events', rows: 'rows' }, (bars) => {
      for (const done of [1, 2]) bars.events.update(done, done / 4);
      return Promise.reject(new Error('interrupted'));
    });
    await expect(work).rejects.toThrow('interrupted');
    expect(written).toEqual([expect.stringContaining('1 events,'), expect.stringContaining('2 events,')]);
  } finally {
    mock.mockRestore();
  }
});

it('table aligns more rows than a function takes arguments', () => {
  const rows = Array.from({ length: 200_000 }, (_, n) => [`key-${n}`, n]);
  expect(table(['id', 'n'], rows).at(-1)).toBe('key-199999  199999');
});
