import { describe, expect, it } from '@jest/globals';
import { assetHash } from '../../src/assets/asset-key.js';
import { parseEvent, toJson } from '../../src/events/event.js';
import { LATEST } from '../../src/events/instant.js';
import { decideMembership, type Placement, readContent } from '../../src/asset-groups/membership.js';

const NOW = 1_790_000_000_000;
const decide = (action: 'add' | 'remove', contents: readonly unknown[], placements: Map<string, Placement>) =>
  decideMembership({ action, organization: 'acme', groupId: 1, contents: contents.map(readContent) }, placements, NOW);
const hashOf = (content: string): string => assetHash({ type: 'URL', content });

describe('A content', () => {
  it.each([
    ['https://Evil.example/claim?x=1', 'URL', 'evil.example'],
    ['https://sites.google.com/view/abc', 'PAGE', 'sites.google.com/view/abc'],
    ['https://x.com/NAME', 'TWITTER', 'name'],
    ['https://x.com/NAME/status/123', 'PAGE', 'x.com/i/status/123'],
    ['https://t.me/NAME/123', 'PAGE', 't.me/name/123'],
    ['@NAME', 'TWITTER', 'name'],
    ['https://t.me/c/123', 'TELEGRAM', 'c/123'],
    ['mailto:Me@X.example', 'EMAIL', 'me@x.example'],
    ['0x52908400098527886E0F7030069857D2E4169EE7', 'ADDRESS', '0x52908400098527886e0f7030069857d2e4169ee7'],
    [
      'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPAdG',
      'IPFS',
      'bafybeie5nqv6kd3qnfjupgvz34woh3oksc3iau6abmyajn7qvtf47mlfvm',
    ],
    ['https://play.google.com/store/apps/details?id=com.foo.bar', 'GOOGLE_APP_STORE', 'com.foo.bar'],
  ])('%s is stored as the asset that upstream would report', (content, type, understood) => {
    expect(readContent(content)).toEqual({
      asset: { type, content: understood },
      hash: assetHash({ type, content: understood }),
    });
  });
});

describe('A membership change', () => {
  it('consists of valid events, each dated after the previous event of its asset', () => {
    const placements = new Map<string, Placement>([
      [hashOf('ahead.example'), { groupId: 2, updatedAt: NOW + 5 }],
      [hashOf('alone.example'), { groupId: undefined, updatedAt: NOW }],
      [hashOf('member.example'), { groupId: 1, updatedAt: NOW - 9 }],
    ]);
    const contents = ['ahead.example', 'alone.example', 'member.example', 'new.example'];
    const { items, events } = decide('add', contents, placements);
    expect(items.map(({ result }) => result)).toEqual(['moved', 'added', 'unchanged', 'added']);
    expect(events.map(({ event }) => event.data.updatedAt)).toEqual([NOW + 6, NOW + 1, NOW]);
    for (const { event, hash } of events) {
      expect(parseEvent(event.type, toJson(event)).event).toEqual(event);
      expect(hash).toBe(assetHash(event.data.asset));
    }
    expect(decide('add', contents, placements).events).toEqual([]);
  });

  it('removes only assets that are in the group', () => {
    const placements = new Map<string, Placement>([
      [hashOf('member.example'), { groupId: 1, updatedAt: NOW }],
      [hashOf('other.example'), { groupId: 2, updatedAt: NOW }],
    ]);
    const { items, events } = decide('remove', ['member.example', 'member.example', 'other.example'], placements);
    expect(items.map(({ result }) => result)).toEqual(['removed', 'unchanged', 'unchanged']);
    expect(events).toMatchObject([
      { event: { type: 'AssetUngrouped', data: { asset: { content: 'member.example' } } } },
    ]);
  });

  it('rejects an asset whose newest event has the latest possible date', () => {
    const placements = new Map([[hashOf('a.example'), { groupId: 2, updatedAt: LATEST }]]);
    const { items, events } = decide('add', ['a.example'], placements);
    expect({ items, events }).toMatchObject({ items: [{ result: 'error', reason: 'internal-error' }], events: [] });
  });
});
