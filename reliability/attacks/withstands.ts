import { afterAll, expect, it } from '@jest/globals';
import { stands } from '../faults/stands.js';
import { asFault, type Attack } from './attack.js';
import { Site } from './rig/site.js';

/** The short doses of some attacks on one service, and the operator's recount after all of them. */
export const withstands = async (attacks: readonly Attack[]): Promise<void> => {
  const site = new Site();
  for (const attack of attacks) await stands(asFault(attack, site));
  it('counts after all of them what a recount from the log counts', async () => {
    expect(await site.close()).toEqual([]);
  }, 300_000);
  afterAll(() => site.close());
};
