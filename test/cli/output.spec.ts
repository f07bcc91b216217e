import { expect, it, jest } from '@jest/globals';
import { withProgress } from '../../src/cli/output.js';

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
