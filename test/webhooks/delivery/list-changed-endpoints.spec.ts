import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LIST_CHANGED_ENDPOINTS } from '../../../src/webhooks/delivery/next-batch.js';
import { Rig } from '../../support/delivery-rig.js';

let rig: Rig;
beforeEach(async () => void (rig = await Rig.start()));
afterEach(() => rig.end());

const list = (fingerprint: string) => LIST_CHANGED_ENDPOINTS.run(rig.database.pool, { upTo: -1, fingerprint });

describe('The list of endpoints', () => {
  it('is returned only if an endpoint of any organization was created, changed or deleted', async () => {
    let fingerprint = '';
    const changes = async () => {
      const rows = await list(fingerprint);
      fingerprint = rows[0]?.fingerprint ?? fingerprint;
      expect(await list(fingerprint)).toEqual([]);
      return rows.map(({ organization, revision }) => [organization, revision]);
    };
    await rig.projecting.reached();
    expect(await changes()).toEqual([[null, null]]);
    const first = await rig.endpoint('http://127.0.0.1:1/', { organization: 'acme' });
    await rig.appendWebhookEvent('WebhookChanged', first);
    expect(await changes()).toEqual([['acme', 1]]);
    // The revision of the new endpoint is lower than that of the known endpoint of another organization.
    const second = await rig.endpoint('http://127.0.0.1:1/', { organization: 'other' });
    expect(await changes()).toEqual([
      ['acme', 1],
      ['other', 0],
    ]);
    await rig.appendWebhookEvent('WebhookChanged', second);
    expect(await changes()).toEqual([
      ['acme', 1],
      ['other', 1],
    ]);
    await rig.appendWebhookEvent('WebhookDeleted', { ...first, state: 'DELETED' });
    expect(await changes()).toEqual([['other', 1]]);
    await rig.appendWebhookEvent('WebhookDeleted', { ...second, state: 'DELETED' });
    expect(await changes()).toEqual([[null, null]]);
  });
});
