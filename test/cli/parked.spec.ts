import { expect, it } from '@jest/globals';
import { addRejectedEvents } from '../../src/ingestion/outcomes/rejection-log.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase } from '../support/postgres.js';

it('rejected list shows rejected events with escaped control characters, and rejected clear deletes the events', async () => {
  const database = await createDatabase();
  const call = async (...words: string[]): Promise<string> => {
    const { code, out } = await operatorCall({ DATABASE_URL: database.url }, 'rejected', ...words);
    expect(code).toBe(0);
    return out;
  };
  try {
    const sample = { id: 'a\u001b[2J', source: 's', type: 'Made\nUp', issues: ['type is unknown'], data: '{}' };
    const row = { owner: 'acme', keyId: 'key_a', reason: 'unknown-type' as const, type: 'other', count: 3, sample };
    await addRejectedEvents(database.pool, [{ ...row, day: 20_514, lastAt: Date.UTC(2026, 2, 2, 1) }]);
    expect(JSON.parse(await call('list', '--json'))).toEqual([
      { ...row, day: '2026-03-02', lastAt: '2026-03-02T01:00:00.000Z' },
    ]);
    expect((await call('list')).split('\n').slice(1)).toEqual([
      expect.stringMatching(
        /^2026-03-02 +key_a +unknown-type +other +3 +2026-\S+ +a\\u\{1B\}\[2J +Made\\u\{A\}Up +type is/,
      ),
      '',
    ]);
    expect(await call('clear')).toBe('1 record of rejected events deleted\n');
    expect(JSON.parse(await call('list', '--json'))).toEqual([]);
  } finally {
    await database.drop();
  }
});
