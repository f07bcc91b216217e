import { describe, expect, it } from '@jest/globals';
import { parseEvent } from '../../src/events/event.js';
import { maxFactsOf } from '../../src/events/facts.js';

const AT = '2026-01-01T00:00:00.000Z';
const LATEST = Date.parse('2026-01-02T00:00:00.000Z');
const brands = (size: number): string[] => Array.from({ length: size }, (_, index) => `b-${index}`);

const report = (size: number) => ({
  type: 'ReportFiled' as const,
  data: { organization: 'acme', reportId: 'r-1', brands: brands(size), createdAt: AT, updatedAt: AT },
});
const entry = (size: number) => ({
  type: 'AssetStatusChanged' as const,
  data: {
    changeId: 'c-1',
    asset: { type: 'URL', content: 'phishing.example' },
    status: 'BLOCKED',
    brandReviews: brands(size).map((brand) => ({ organization: 'acme', brand })),
    createdAt: AT,
  },
});

describe.each([
  ['brands of a report', report, 'brands'],
  ['reviews of a status entry', entry, 'brandReviews'],
])('The list of %s', (_, event, field) => {
  it('has at most 50 items if the event is sent', () => {
    const issuesOf = (size: number) => parseEvent(event(size).type, event(size).data, LATEST).issues;
    expect(issuesOf(50)).toBeUndefined();
    expect(issuesOf(51)).toEqual([`data.${field} must be an array of at most 50 items`]);
  });

  it('may have up to 1,000 items if the event is already stored', () => {
    const issuesOf = (size: number) => parseEvent(event(size).type, event(size).data).issues;
    expect(issuesOf(1_000)).toBeUndefined();
    expect(issuesOf(1_001)).toEqual([`data.${field} must be an array of at most 1000 items`]);
  });

  it('adds one fact for each of the first four items to the maximum of the event, and four for each further item', () => {
    expect([0, 1, 4, 5, 15].map((size) => maxFactsOf(event(size)))).toEqual([1, 2, 5, 9, 49]);
  });
});

it('maxFactsOf returns the number of rows that a move between groups changes, and one more for each further KiB', () => {
  const weigh = (type: string, content: unknown = 'a.example'): number =>
    maxFactsOf({ type, data: { asset: { type: 'URL', content } } });
  expect(weigh('AssetGrouped')).toBe(3);
  expect(weigh('AssetGrouped', 'a'.repeat(4_000))).toBe(6);
  expect(weigh('AssetGrouped', 7)).toBe(3);
  expect(weigh('AssetUngrouped', 'a'.repeat(4_000))).toBe(5);
  expect(weigh('AssetStatusChanged', 'é'.repeat(4_000))).toBe(8);
  expect(maxFactsOf({ type: 'AssetGrouped', data: null })).toBe(3);
});

it('maxFactsOf counts a KiB exactly where data reach it, whatever has to be escaped', () => {
  const pieces = ['a', '"', '\\', '\n', '\u0001', 'é', '漢', '😀', '\ud800'];
  for (const piece of pieces)
    for (let length = 0; length < 1_200; length += 1) {
      const data = { asset: { content: piece.repeat(length) }, list: [length, null, true], [piece]: -1.5e-300 };
      const bytes = Buffer.byteLength(JSON.stringify(data));
      expect([piece, length, maxFactsOf({ type: 'ThreatStatusChanged', data })]).toEqual([
        piece,
        length,
        Math.ceil(bytes / 1_024),
      ]);
    }
});

it('maxFactsOf returns the maximum of removed facts for a deletion, and of added facts for other events', () => {
  const weigh = (type: string, data: unknown = {}): number => maxFactsOf({ type, data });
  expect(weigh('ReportDeleted')).toBe(51);
  expect(weigh('TakedownFiled')).toBe(4);
  expect(weigh('ThreatStatusChanged')).toBe(1);
  expect(weigh('ReportFiled', null)).toBe(1);
  expect(weigh('ReportFiled', { brands: 'all of them' })).toBe(1);
});
