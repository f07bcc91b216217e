import { describe, expect, it } from '@jest/globals';
import { NetworkPolicy } from '../../src/egress.js';
import { readAddress } from '../../src/webhooks/webhooks.controller.js';

describe('The URL of a webhook', () => {
  it('is rejected if its host name has an empty part, whatever the operator allows', () => {
    for (const policy of [new NetworkPolicy([]), new NetworkPolicy(['127.0.0.1'])]) {
      for (const url of ['https://localhost../', 'https://../', 'https://a..b/', 'https://.a.b/', 'https://a.b../'])
        expect({ url, issue: readAddress(url, policy).issue }).toEqual({
          url,
          issue: 'url: the host name has an empty part between dots',
        });
      for (const url of ['https://a.example/', 'https://a.example./', 'https://93.184.216.34/'])
        expect(readAddress(url, policy).issue).toBeUndefined();
    }
  });
});
