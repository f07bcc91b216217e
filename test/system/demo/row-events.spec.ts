import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonCloudEvent } from '../../../src/events/cloud-event-schema.js';
import { rowEvents } from '../../../src/cli/demo/row-events.js';
import { readAddressRows, readSiteRows } from '../../../src/cli/demo/shipped-rows.js';
import { readCloudEvent } from '../../../src/ingestion/receive/cloud-event.js';
import { finish } from '../../../src/flow/turns.js';
import { decide } from '../../../src/ingestion/receive/decide-events.js';
import { ErasedOrganizations } from '../../../src/event-log/erased-organizations.js';
import { RecordEvents } from '../../../src/ingestion/receive/record-events.js';

const DAY_MS = 86_400_000;

const day = (date: string): number => Date.parse(`${date}T00:00:00Z`);
const site = (line: number, date: string, ordinal: number, change: string, name: string) => ({
  line,
  day: day(date),
  ordinal,
  change,
  site: name,
});
const events = (...rows: ReturnType<typeof site>[]): JsonCloudEvent[] =>
  rowEvents(rows, []).events.filter(({ type }) => type !== 'BrandRegistered' && type !== 'FeatureFlagChanged');
const briefly = ({ id, type, time, data }: JsonCloudEvent): unknown[] => [id, type, time, data['status']];

describe('A row of the shipped data', () => {
  it('becomes an approved threat and a blocked asset if it lists a site, with its ordinal in the milliseconds', () => {
    expect(events(site(7, '2024-05-01', 3, 'listed', 'metamask-login.example'))).toEqual([
      {
        specversion: '1.0',
        id: 'phishing-sites.csv:7:threat',
        source: 'https://github.com/polkadot-js/phishing',
        type: 'ThreatStatusChanged',
        time: '2024-05-01T00:00:00.003Z',
        data: {
          organization: 'acme',
          threatId: 'line-7',
          asset: { type: 'URL', content: 'metamask-login.example' },
          status: 'APPROVED',
          createdAt: '2024-05-01T00:00:00.000Z',
          updatedAt: '2024-05-01T00:00:00.003Z',
        },
      },
      {
        specversion: '1.0',
        id: 'phishing-sites.csv:7:status',
        source: 'https://github.com/polkadot-js/phishing',
        type: 'AssetStatusChanged',
        time: '2024-05-01T00:00:00.003Z',
        data: {
          changeId: 'line-7',
          asset: { type: 'URL', content: 'metamask-login.example' },
          status: 'BLOCKED',
          brandReviews: [{ organization: 'acme', brand: 'metamask' }],
          createdAt: '2024-05-01T00:00:00.003Z',
        },
      },
    ]);
  });

  it('rejects the same threat and makes the asset unknown again if it delists a site', () => {
    const [, , threat, status] = events(
      site(7, '2024-05-01', 3, 'listed', 'a.example'),
      site(9, '2024-06-01', 0, 'delisted', 'a.example'),
    );
    expect(threat!.data).toMatchObject({
      threatId: 'line-7',
      status: 'REJECTED',
      createdAt: '2024-05-01T00:00:00.000Z',
      updatedAt: '2024-06-01T00:00:00.000Z',
    });
    expect(status!.data).toMatchObject({ changeId: 'line-9', status: 'UNKNOWN' });
  });

  it('keeps the day of the listing if it delists a site before the listing', () => {
    const [rejected, , approved] = events(
      site(3, '2024-05-01', 0, 'delisted', 'a.example'),
      site(4, '2024-05-02', 0, 'listed', 'a.example'),
    );
    expect(rejected!.data).toMatchObject({ threatId: 'line-3', createdAt: '2024-05-01T00:00:00.000Z' });
    expect(approved!.data).toMatchObject({ threatId: 'line-3', createdAt: '2024-05-02T00:00:00.000Z' });
  });

  it('also becomes a report, a takedown and a takedown within a day on every 10th, 20th and 40th line', () => {
    const listed = (line: number) => events(site(line, '2024-05-01', 5, 'listed', 'uniswap.example')).slice(2);
    expect(listed(11)).toEqual([]);
    expect(listed(10).map(briefly)).toEqual([
      ['phishing-sites.csv:10:report', 'ReportFiled', '2024-05-01T00:00:00.005Z', undefined],
    ]);
    expect(listed(20).map(briefly)[1]).toEqual([
      'phishing-sites.csv:20:takedown',
      'TakedownFiled',
      '2024-05-01T00:00:00.005Z',
      'TODO',
    ]);
    const [, filed, completed] = listed(40);
    expect(briefly(completed!)).toEqual([
      'phishing-sites.csv:40:completed',
      'TakedownStatusChanged',
      '2024-05-05T18:29:08.421Z',
      'COMPLETED',
    ]);
    expect(completed!.data).toMatchObject({ takedownId: 'line-40', brand: 'uniswap' });
    expect(completed!.data['createdAt']).toBe(filed!.data['createdAt']);
  });

  it('never becomes a report or a takedown if it delists a site', () => {
    expect(events(site(40, '2024-05-01', 0, 'delisted', 'a.example'))).toHaveLength(2);
  });

  it.each([
    ['*.top', 'a pattern, not a site'],
    ['.top', 'not a possible site'],
    ['a wallet', 'not a possible site'],
  ])('becomes no event, with a reason, if its site is %s', (name, reason) => {
    const { events: taken, skipped } = rowEvents([site(2, '2024-05-01', 0, 'listed', name)], []);
    expect(skipped).toEqual([{ file: 'phishing-sites.csv', line: 2, reason }]);
    expect(taken.filter(({ id }) => id.startsWith('phishing-sites'))).toEqual([]);
  });

  it('becomes a watchlisted threat on the day of the listing, or on the last day, if it has a wallet address', () => {
    const address = '155dDX3rWoNsY4aiJFbsu6wLB91c2J2Ws5BgMfJKyM1eGnkS';
    const other = '14FscqFT8S8W8emC5294cEpDctgAucJW7C99mpxS4cucpHoA';
    const rows = [site(2, '2024-05-01', 0, 'listed', 'a.example'), site(3, '2024-06-01', 0, 'listed', 'b.example')];
    const { events: taken, skipped } = rowEvents(rows, [
      { line: 2, site: 'a.example', address },
      { line: 3, site: 'Atomic Wallet attacker', address: other },
      { line: 4, site: 'b.example', address },
      { line: 5, site: 'b.example', address: 'nothing' },
    ]);
    const watched = taken.filter(({ data }) => data['status'] === 'WATCHLISTED');
    expect(watched.map(({ data }) => [data['threatId'], data['createdAt']])).toEqual([
      ['address-line-2', '2024-05-01T00:00:00.000Z'],
      ['address-line-3', '2024-06-01T00:00:00.000Z'],
    ]);
    expect(skipped.map(({ line, reason }) => [line, reason])).toEqual([
      [4, 'a wallet address already on an earlier line'],
      [5, 'not a wallet address'],
    ]);
  });
});

/** The README, and the response that it shows, which counts the last three days of 2025. */
const readReadme = (): { text: string; metrics: Record<string, number> } => {
  const text = readFileSync('README.md', 'utf8');
  const { metrics } = JSON.parse(/```json\n(.*?)```/s.exec(text)![1]!) as { metrics: Record<string, number> };
  return { text, metrics };
};
const isOfReadme = ({ data }: JsonCloudEvent): boolean => /^2025-12-(29|30|31)T/.test(String(data['createdAt']));

describe('The whole shipped data', () => {
  const readme = readReadme();
  let all: ReturnType<typeof rowEvents>;
  beforeAll(() => {
    all = rowEvents(readSiteRows(), readAddressRows());
  });

  it('gives the same events each time, each with a unique id', () => {
    const { events: again } = rowEvents(readSiteRows(), readAddressRows());
    expect(again.length).toBe(126_756);
    expect(new Set(all.events.map(({ id }) => id)).size).toBe(again.length);
    const sample = (list: readonly JsonCloudEvent[]): JsonCloudEvent[] => list.filter((_, index) => index % 50 === 0);
    expect(sample(again)).toEqual(sample(all.events));
  });

  it('is accepted without an issue', () => {
    const latest = day('2026-02-05') + DAY_MS;
    const read = all.events.filter((_, index) => index % 20 < 2).map((event) => readCloudEvent(event, latest, true));
    const command = new RecordEvents(read, latest, undefined);
    const { rejected } = finish(decide(command, { guardOf: () => undefined }, new ErasedOrganizations()));
    expect(rejected).toEqual([]);
  });

  it('skips only the rows that it names', () => {
    const rowsWithEvents = new Set(all.events.map(({ id }) => id.split(':').slice(0, 2).join(':')));
    const skippedRows = new Set(all.skipped.map(({ file, line }) => `${file}:${line}`));
    const everyRow = [
      ...Array.from({ length: 58_307 }, (_, index) => `phishing-sites.csv:${index + 2}`),
      ...Array.from({ length: 279 }, (_, index) => `phishing-addresses.csv:${index + 2}`),
    ];
    expect(everyRow.filter((row) => rowsWithEvents.has(row) === skippedRows.has(row))).toEqual([]);
    expect(all.skipped).toHaveLength(32);
  });

  it('ends with a threat for each site whose last row lists it', () => {
    const lines = readFileSync('src/cli/demo/data/phishing-sites.csv', 'utf8').split('\r\n').slice(1);
    const lastChange: Record<string, string> = {};
    for (const line of lines) lastChange[line.slice(line.lastIndexOf(',') + 1)] = line.split(',')[1]!;
    const listed = Object.values(lastChange).filter((change) => change === 'listed').length;

    const newest = new Map<unknown, JsonCloudEvent>();
    for (const event of all.events) {
      if (event.type !== 'ThreatStatusChanged') continue;
      const before = newest.get(event.data['threatId']);
      if (!before || event.time > before.time) newest.set(event.data['threatId'], event);
    }
    const approved = [...newest.values()].filter(({ data }) => data['status'] === 'APPROVED');
    expect(approved).toHaveLength(listed);
    expect(listed).toBe(55_583);
    expect(approved.filter(isOfReadme)).toHaveLength(readme.metrics['newThreats']!);
  });

  it('gives the numbers in the README', () => {
    const rows = readSiteRows().length + readAddressRows().length;
    expect(readme.text).toContain(`sends ${rows.toLocaleString('en')} rows`);
    const counted = (type: string): number =>
      all.events.filter((event) => event.type === type && isOfReadme(event)).length;
    expect([counted('ReportFiled'), counted('TakedownFiled')]).toEqual([
      readme.metrics['reports'],
      readme.metrics['takedownsFiled'],
    ]);
  });
});
