import { describe, expect, it } from '@jest/globals';
import { NewestGroups } from '../../projections/asset-groups.js';
import { decodeEvent } from '../../projections/engine/parking.js';
import type { ProjectedEvent } from '../../projections/engine/projection.js';
import { rowOf } from '../../projections/register/row.js';
import { entryStateOf } from '../../projections/register/verdicts.js';
import { assetHash, assetKey } from '../../src/assets/asset-key.js';
import { hashOfKey, KEY_VERSION } from '../../src/assets/asset.js';
import type { UpstreamEvent } from '../../src/events/event.js';
import { hashOf, keyOf, newStoredKey } from '../../src/events/stored-key.js';
import { EXAMPLES, recordedInOrder, sent } from '../support/upstream.js';

const ASSET = { type: 'URL', content: 'https://Evil.example/claim' };
/** Not the key of the content, so that a use of the stored key shows. */
const STORED = { version: KEY_VERSION, hash: hashOfKey('URL:stored.example'), key: 'URL:stored.example' };

const projected = (type: UpstreamEvent['type'], assetKeyOfEvent: unknown): ProjectedEvent => {
  const [event] = recordedInOrder([sent(type, { ...EXAMPLES[type], asset: ASSET })]);
  const metadata = { ...(event!.metadata as object), assetKey: assetKeyOfEvent };
  const decoded = decodeEvent({ ...event!, metadata });
  if (decoded.kind !== 'read') throw new Error('The event of the spec is unreadable');
  return decoded.projected;
};

const about = (metadata: unknown) => ({ event: { data: { asset: ASSET } }, metadata });

describe('The stored key of an event', () => {
  it('has the version and the hash, and the key of entries of the status history', () => {
    const [hash, key] = [assetHash(ASSET), assetKey(ASSET)];
    const newKey = (type: UpstreamEvent['type']) => newStoredKey(projected(type, undefined).event);
    expect(newKey('ThreatStatusChanged')).toEqual({ version: KEY_VERSION, hash });
    expect(newKey('AssetStatusChanged')).toEqual({ version: KEY_VERSION, hash, key });
    expect(newKey('AssetStatusChangeDeleted')).toEqual({ version: KEY_VERSION, hash, key });
    const [report] = recordedInOrder([sent('ReportFiled', EXAMPLES.ReportFiled)]);
    const decoded = decodeEvent(report!);
    expect(decoded.kind === 'read' && newStoredKey(decoded.projected.event)).toBeUndefined();
  });

  it('replaces reading the content', () => {
    expect([hashOf(about({ assetKey: STORED })), keyOf(about({ assetKey: STORED }))]).toEqual([
      STORED.hash,
      STORED.key,
    ]);
  });

  it.each<[string, unknown]>([
    ['is absent', {}],
    ['is of an earlier version', { assetKey: { ...STORED, version: KEY_VERSION - 1 } }],
    ['is of a later version', { assetKey: { ...STORED, version: KEY_VERSION + 1 } }],
    ['has no texts', { assetKey: { version: KEY_VERSION, hash: 1, key: null } }],
    ['is null', { assetKey: null }],
    ['is a text', { assetKey: 'URL:stored.example' }],
    ['cannot be present, because the metadata is null', null],
  ])('is computed from the content if it %s', (_, metadata) => {
    expect([hashOf(about(metadata)), keyOf(about(metadata))]).toEqual([assetHash(ASSET), assetKey(ASSET)]);
  });

  it('is used by the projections of records and groups', () => {
    for (const type of ['ThreatStatusChanged', 'TakedownFiled', 'TakedownStatusChanged'] as const)
      expect(rowOf(projected(type, STORED) as Parameters<typeof rowOf>[0]).assetHash).toBe(STORED.hash);
    const { state } = entryStateOf(projected('AssetStatusChanged', STORED) as Parameters<typeof entryStateOf>[0]);
    expect(state.assetHash).toBe(STORED.hash);
    const groups = new NewestGroups();
    groups.add(projected('AssetGrouped', STORED) as Parameters<typeof groups.add>[0]);
    expect([...groups.assets.values()].map((asset) => asset.assetHash)).toEqual([STORED.hash]);
  });
});
