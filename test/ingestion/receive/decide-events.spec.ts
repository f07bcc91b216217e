import { describe, expect, it } from '@jest/globals';
import { EXAMPLES, type JsonCloudEvent } from '../../../src/events/cloud-event-schema.js';
import { ASSET_TYPES } from '../../../src/events/asset-types.js';
import { ErasedOrganizations } from '../../../src/event-log/erased-organizations.js';
import { LATEST } from '../../../src/events/instant.js';
import { finish } from '../../../src/flow/turns.js';
import { readCloudEvent } from '../../../src/ingestion/receive/cloud-event.js';
import { decide } from '../../../src/ingestion/receive/decide-events.js';
import { RecordEvents } from '../../../src/ingestion/receive/record-events.js';

const decided = (events: readonly object[], hasKeyOf?: (organization: string) => boolean) =>
  finish(
    decide(
      new RecordEvents(
        events.map((event) => readCloudEvent(event, LATEST, false)),
        LATEST,
        undefined,
        0,
        {},
        hasKeyOf,
      ),
      { guardOf: () => undefined },
      new ErasedOrganizations(),
    ),
  );
const warned = (event: JsonCloudEvent, data: object): readonly string[] => {
  const { warnings, entries } = decided([{ ...event, data: { ...event.data, ...data } }]);
  expect(entries).toHaveLength(1);
  return warnings.flatMap(({ issues }) => issues.map(({ message }) => message));
};
const withField = (name: string) => EXAMPLES.filter(({ data }) => name in data);

describe('Warnings', () => {
  it('are not returned for the examples', () => {
    expect(decided(EXAMPLES).warnings).toEqual([]);
  });

  it('are returned if updatedAt is before createdAt', () => {
    const events = withField('createdAt').filter(({ data }) => 'updatedAt' in data);
    expect(events.map(({ type }) => type)).toContain('ReportFiled');
    for (const event of events) {
      const before = '2020-01-01T00:00:00Z';
      expect([event.type, warned(event, { updatedAt: before })]).toEqual([
        event.type,
        ['data.updatedAt is before data.createdAt'],
      ]);
      expect(warned(event, { updatedAt: event.data['createdAt'] })).toEqual([]);
    }
  });

  it('are returned for blank content, and for an ADDRESS that is not a valid address', () => {
    const [evm, bitcoin] = ['0x52908400098527886e0f7030069857d2e4169ee7', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'];
    for (const event of withField('asset')) {
      for (const content of [' ', '\t\n', '\u3000'])
        expect(warned(event, { asset: { type: 'URL', content } })).toEqual([
          'data.asset.content is blank; no asset check will find it',
        ]);
      for (const content of ['example.org', '0x1234', `${bitcoin}x`])
        expect([content, warned(event, { asset: { type: 'ADDRESS', content } })]).toEqual([
          content,
          [
            'data.asset.content is not an address in an encoding that the asset check reads; no asset check will find it',
          ],
        ]);
      for (const content of [evm, bitcoin, `(${evm})`, `eip155:1:${evm}`])
        expect([content, warned(event, { asset: { type: 'ADDRESS', content } })]).toEqual([content, []]);
    }
  });

  it('are returned for an asset type that is not documented, and for no documented one', () => {
    for (const event of withField('asset')) {
      for (const type of ['DOMAIN', 'HOST', 'IP', 'WALLET'])
        expect([event.type, warned(event, { asset: { type, content: 'evil.example' } })]).toEqual([
          event.type,
          [
            expect.stringMatching(
              /^data\.asset\.type is none of URL, PAGE, ADDRESS, .*, CHROME_WEB_STORE; a threat of this type counts in otherThreats, and asset checks may not find the asset$/,
            ),
          ],
        ]);
      for (const type of ASSET_TYPES) {
        const warnings = warned(event, { asset: { type, content: 'evil.example' } });
        expect([type, warnings.filter((text) => text.startsWith('data.asset.type'))]).toEqual([type, []]);
      }
    }
  });

  it('are returned once per request for an organization without a key', () => {
    const filed = EXAMPLES.find(({ type }) => type === 'ReportFiled')!;
    const of = (organization: string, id: string) => ({ ...filed, id, data: { ...filed.data, organization } });
    const events = [of('acme', 'a'), of('acmee', 'b'), of('acmee', 'c'), of('nobody', 'd')];
    const message = (slug: string): string =>
      `data.organization: no API key belongs to ${slug}, so nobody can query its events; check the slug`;
    expect(decided(events, (slug) => slug === 'acme').warnings).toEqual([
      { index: 1, id: 'b', issues: [{ message: message('acmee') }] },
      { index: 3, id: 'd', issues: [{ message: message('nobody') }] },
    ]);
  });

  it('are returned for a status that is none of the documented ones, and say what the event counts as', () => {
    const counts: [string, string][] = [
      ['ThreatStatusChanged', 'in no metric'],
      ['TakedownFiled', 'only as takedownsFiled'],
      ['TakedownStatusChanged', 'only as takedownsFiled'],
    ];
    for (const [type, counted] of counts) {
      const event = EXAMPLES.find((each) => each.type === type)!;
      const [message, ...others] = warned(event, { status: 'NOPE' });
      expect([type, message, others]).toEqual([
        type,
        expect.stringMatching(`^data\\.status is none of [A-Z_, ]+; the event counts ${counted}$`),
        [],
      ]);
      const [, statuses] = /none of (.*);/.exec(message!)!;
      for (const status of statuses!.split(', ')) expect([type, warned(event, { status })]).toEqual([type, []]);
    }
  });

  it('are returned for a status of a page whose parameters or route do not name it, and for no other', () => {
    const [status] = withField('changeId').filter(({ data }) => 'status' in data);
    const of = (content: string, type = 'PAGE'): readonly string[] =>
      warned(status!, { asset: { type, content }, status: 'BLOCKED' });
    for (const content of [
      'https://a.example/items?ref=1',
      'https://a.example/?id=5',
      'https://mail.google.com/mail/u/0/#inbox/FMfcgzQ',
      'https://a.example/app#/items/5',
      'https://a.example/app#!items',
    ])
      expect(of(content)).toEqual([expect.stringContaining('parameters or a route that do not name it')]);
    for (const content of [
      'https://a.example/items',
      'https://a.example/items?utm_source=x',
      'https://a.example/items#prices',
      'https://a.example/items#state=a/b',
      'https://app.uniswap.org/#/swap?outputCurrency=0x5',
      'https://a.example/oauth/authorize?client_id=x&state=1',
      'https://youtube.com/watch?v=A&t=1',
    ])
      expect(of(content)).toEqual([]);
    expect(of('https://a.example/items?ref=1', 'URL')).toEqual([]);
  });

  it('have the index and the id of the event, and are returned together with rejected events', () => {
    const [filed] = EXAMPLES;
    const late = { ...filed, id: 'late', data: { ...filed!.data, updatedAt: '2020-01-01T00:00:00Z' } };
    const { entries, rejected, warnings } = decided([filed!, { ...filed, id: 'bad', time: 'x' }, late]);
    expect([entries.length, rejected.map(({ index }) => index)]).toEqual([2, [1]]);
    expect(warnings).toEqual([
      { index: 2, id: 'late', issues: [{ message: 'data.updatedAt is before data.createdAt' }] },
    ]);
  });
});

describe('A status entry with the id of an earlier event of the request about the same asset', () => {
  const entry = EXAMPLES.find(({ type }) => type === 'AssetStatusChanged')!;
  const withData = (changes: object) => ({ ...entry, data: { ...entry.data, ...changes } });

  it('is rejected if its changeId is another one, because it would not be stored', () => {
    const { entries, repeated, rejected, warnings } = decided([entry, withData({ changeId: 'another' }), entry]);
    expect([entries.length, repeated, warnings]).toEqual([1, [entry.type], []]);
    expect(rejected).toEqual([
      {
        index: 1,
        id: entry.id,
        issues: [
          {
            message:
              'id is that of an earlier event of the request about the same asset with another data.changeId; send each entry with an id of its own',
          },
        ],
      },
    ]);
  });

  it('is a duplicate if its changeId is the same, and another event if its asset is another one', () => {
    const other = withData({ asset: { type: 'URL', content: 'other.example' }, changeId: 'another' });
    const { entries, repeated, rejected } = decided([entry, withData({ status: 'UNKNOWN' }), other]);
    expect([entries.length, repeated, rejected]).toEqual([2, [entry.type], []]);
  });
});
