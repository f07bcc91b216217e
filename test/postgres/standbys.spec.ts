import { describe, expect, it } from '@jest/globals';
import { logStandbys } from '../../src/postgres/standbys.js';

const toldOf = async (names: string, commit: string): Promise<string> => {
  let told = '';
  const query = (): Promise<unknown> => Promise.resolve({ rows: [{ names, commit }] });
  await logStandbys({ query } as never, (sentence) => (told = sentence));
  return told;
};

describe('The start', () => {
  it('tells whether what is acknowledged is on a standby too', async () => {
    expect(await toldOf('ANY 1 (*)', 'on')).toBe(
      'What is acknowledged is on a standby too (synchronous_standby_names = ANY 1 (*))',
    );
    expect(await toldOf('', 'on')).toMatch(/server alone \(synchronous_standby_names is empty\): a failover loses/);
    expect(await toldOf('ANY 1 (*)', 'local')).toMatch(/server alone \(synchronous_commit = local\)/);
  });
});
