import { describe, expect, it } from '@jest/globals';
import { logStandbys } from '../../../src/postgres/pool.js';

const toldOf = async (names: string, commit: string): Promise<string> => {
  let logged = '';
  const query = (): Promise<unknown> => Promise.resolve({ rows: [{ names, commit }] });
  await logStandbys({ query } as never, (sentence) => (logged = sentence));
  return logged;
};

describe('logStandbys', () => {
  it('logs whether acknowledged events are also stored on a standby', async () => {
    expect(await toldOf('ANY 1 (*)', 'on')).toBe(
      'Acknowledged events are also stored on a standby (synchronous_standby_names = ANY 1 (*))',
    );
    expect(await toldOf('', 'on')).toMatch(/server only \(synchronous_standby_names is empty\): a failover loses/);
    expect(await toldOf('ANY 1 (*)', 'local')).toMatch(/server only \(synchronous_commit = local\)/);
  });
});
