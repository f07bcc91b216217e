import { describe, expect, it, jest } from '@jest/globals';
import { redactAsset } from '../../src/cli/redacting/redact-asset.js';
import {
  addRejectedEvents,
  clearRejectedEvents,
  EMPTY_SAMPLES,
  listRejectedEvents,
  sampleOf,
} from '../../src/ingestion/outcomes/rejection-log.js';
import { sharedApp, sharedDatabase } from '../support/open-for-tests.js';

const SECRET = 'confidential-shop.example';
const FORM = 'hxxps://confidential-shop[.]example';
const ADDRESS = 'Jane Doe, 12 Main Street';
const MAILBOXES = 'a@x.example, b@y.example';
const url = (content: string) => ({ type: 'URL', content });

const database = sharedDatabase();
const app = sharedApp({ database });

/** Stores samples of rejected events with these data. @returns the samples with a data after `change` */
const samplesAfter = async (datas: readonly unknown[], change: () => Promise<unknown>): Promise<string[]> => {
  await clearRejectedEvents(database.pool);
  const sampled = datas.map((data, n) => {
    const event = { id: 'e', source: 's', type: 'ThreatStatusChanged', time: 0, data, issues: [] };
    const row = { owner: 'acme', day: n, keyId: 'k', reason: 'data', type: 'other', count: 1, lastAt: 0 } as const;
    return { ...row, sample: sampleOf({ event, issues: [] }) };
  });
  await addRejectedEvents(database.pool, sampled);
  await change();
  return (await listRejectedEvents(database.pool)).flatMap(({ sample }) => sample.data ?? []).sort();
};

describe('assets redact', () => {
  it('empties samples with the content in any shape, and what was cut off where the content may begin', async () => {
    const long = `https://t.me/confidential_shop/${'p'.repeat(700)}`;
    const cyrillic = 'конфиденциально.example';
    const filler = Array.from({ length: 3 }, (_, n) => `${n}`.padEnd(508, '-'));
    const before = JSON.stringify([...filler, '']).length - 2;
    /** The sample ends this number of bytes after the beginning of the string. */
    const endingAfter = (bytes: number, text: string) => [...filler, '-'.repeat(2_048 - before - bytes - 3), text];
    const shapes: [content: string, data: unknown][] = [
      [SECRET, { asset: `https://${SECRET}/` }],
      [SECRET, { asset: { type: 'URL', value: FORM } }],
      [SECRET, [{ [SECRET]: 1 }]],
      [SECRET, SECRET],
      [long, { asset: url(long) }],
      [long, { asset: long }],
      [SECRET, endingAfter(12, SECRET)],
      [SECRET, endingAfter(12, `https://${SECRET}`)],
      // In the middle of an escape, and of a character.
      [`${SECRET}/"x"`, endingAfter(SECRET.length + 2, `${SECRET}/"x"`)],
      [cyrillic, endingAfter(13, cyrillic)],
      // A text that is no asset, and one whose first part is another asset.
      [ADDRESS, { asset: url(` ${ADDRESS}`) }],
      [` ${ADDRESS}`, endingAfter(8, ADDRESS)],
      [MAILBOXES, { asset: { type: 'EMAIL', content: MAILBOXES } }],
    ];
    const left: unknown[] = [];
    for (const [content, data] of shapes)
      left.push(await samplesAfter([data], () => redactAsset(app, content, 'operator').catch(String)));
    expect(left).toEqual(shapes.map(() => []));

    const others = [
      { asset: url('other.example') },
      { asset: 'https://t.me/other/' + 'p'.repeat(700) },
      endingAfter(12, 'other.example'),
    ];
    const kept = await samplesAfter(others, async () => {});
    expect(await samplesAfter(others, () => redactAsset(app, long, 'operator').catch(String))).toEqual(kept);
    expect(kept).toEqual(expect.arrayContaining([expect.stringMatching(/"other\.exampl$/)]));
    expect(kept).toHaveLength(others.length);
    const parts = [{ asset: 'a@x.example' }, { asset: 'Jane Doe' }];
    for (const content of [MAILBOXES, ADDRESS])
      expect(await samplesAfter(parts, () => redactAsset(app, content, 'operator').catch(String))).toHaveLength(2);
  });

  it('empties a sample whose row is counted up meanwhile', async () => {
    const empty = EMPTY_SAMPLES.run.bind(EMPTY_SAMPLES);
    const emptying = jest.spyOn(EMPTY_SAMPLES, 'run').mockImplementationOnce(async (...values) => {
      await database.pool.query('update service.rejections set count = count + 1');
      return empty(...values);
    });
    const left = await samplesAfter([{ asset: url(SECRET) }], () => redactAsset(app, SECRET, 'operator'));
    emptying.mockRestore();
    expect(left).toEqual([]);
    expect((await listRejectedEvents(database.pool)).map(({ count }) => count)).toEqual([2]);
  });
});
