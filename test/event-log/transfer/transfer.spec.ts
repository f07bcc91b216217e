import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { createHash, randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { BEGINNING, type EventLog, type NewEvent, type RecordedEvent } from '../../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../../src/event-log/eventstoredb/log.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { exportOrganization, writeAtomically } from '../../../src/event-log/transfer/export-organization.js';
import { type Imported, importOrganization } from '../../../src/event-log/transfer/import-organization.js';
import { type Content, redactContent } from '../../../src/cli/redacting/stored-contents.js';
import { erasureDigest } from '../../../src/events/redacted.js';
import { organizationOf } from '../../../src/events/streams.js';
import { createPool } from '../../../src/postgres/pool.js';
import { eventStores } from '../../support/event-store.js';
import { createDatabase, NO_LIMITS } from '../../support/postgres.js';
import {
  eventId,
  recordedInOrder,
  sent,
  sentReport,
  sentStatus,
  sentThreat,
  stored,
  type Sent,
} from '../../support/upstream.js';

const folder = mkdtempSync(join(tmpdir(), 'transfer-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface OpenLog {
  readonly log: EventLog;
  close(): Promise<void>;
}

const openPostgres = async (): Promise<OpenLog> => {
  const database = await createDatabase();
  const log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  return {
    log,
    close: async () => {
      await log.close();
      await database.drop();
    },
  };
};
const openEventStore = async (open: (typeof eventStores)[number]['open']): Promise<OpenLog> => {
  const store = await open();
  const log = await createEventStoreDbLog(store.url);
  return {
    log,
    close: async () => {
      await log.close();
      await store.release();
    },
  };
};

const logs: readonly (readonly [string, () => Promise<OpenLog>])[] = [
  ['PostgreSQL', openPostgres],
  ...eventStores.map(({ name, open }) => [name, () => openEventStore(open)] as const),
];

const review = (organization: string, brand = 'wallet') => ({ organization, brand });
const own = (type: string, organization: string): NewEvent => ({
  id: randomUUID(),
  type,
  data: { organization, name: `group of ${organization}` },
  metadata: { keyId: 'key_1' },
});
const verdictDeleted = (changeId: string): Sent =>
  sent('AssetStatusChangeDeleted', {
    changeId,
    asset: { type: 'URL', content: 'metamask-login.example' },
    deletedAt: '2026-03-02T00:00:00Z',
  });

/** Fills a log with the events of acme, of organizations whose slugs begin with acme, and of beta. */
const fill = async (log: EventLog): Promise<void> => {
  const { organization: _, ...flag } = { organization: '', flag: 'brands-metrics', enabled: true };
  const updatedAt = '2026-03-01T00:00:00Z';
  await log.appendAll([
    // Deletions may precede the verdicts that name the organizations.
    ...[verdictDeleted('deleted-acme'), verdictDeleted('deleted-beta')].map(stored),
    ...['acme', 'acme-2', 'acm', 'beta'].flatMap((organization) =>
      [
        sentThreat('t1', { organization }),
        sentThreat('acme:t2', { organization }),
        sentReport('r1', { organization }),
        sentThreat('t1', { organization, status: 'REJECTED', updatedAt: '2026-04-01T00:00:00Z' }),
        sent('FeatureFlagChanged', { organization, ...flag, updatedAt }),
        sent('BrandRegistered', { organization, brand: 'wallet', name: `Wallet of ${organization}`, updatedAt }),
        sentStatus(`only-${organization}`, { brandReviews: [review(organization)] }),
        sentStatus(`deleted-${organization}`, { brandReviews: [review(organization)] }),
      ].map(stored),
    ),
    ...[
      sentStatus('shared', { brandReviews: [review('beta'), review('acme', 'b'), review('acme'), review('acme-2')] }),
      sentStatus('taken-away', { brandReviews: [review('acme')] }),
      sentStatus('taken-away', { brandReviews: [review('beta')], createdAt: '2026-05-01T00:00:00Z' }),
    ].map(stored),
  ]);
  for (const organization of ['acme', 'acme-2', 'beta'])
    for (const [stream, type] of [
      ['assetGroups', 'AssetGroupCreated'],
      ['assetGroups', 'AssetGroupDeleted'],
      ['webhooks', 'WebhookCreated'],
    ] as const)
      await log.append(`${stream}-${organization}`, 'any', [own(type, organization)]);
  await log.append('apiKeys', 'any', [own('ApiKeyIssued', 'acme')]);
  // An event that a program stored in the wrong stream.
  await log.append('threat-acme:t1', 'any', [own('ThreatStatusChanged', 'beta')]);
};

const everything = async (log: EventLog): Promise<RecordedEvent[]> =>
  (await log.readAll(BEGINNING, 1_000)).filter(({ stream }) => stream !== 'operations');

const exportTo = (log: EventLog, organization: string, path: string): Promise<void> =>
  writeAtomically(
    path,
    exportOrganization(
      log,
      organization,
      () => {},
      () => {},
    ),
    new AbortController().signal,
  );
const importFrom = async (log: EventLog, path: string, dryRun = false): Promise<Imported> => {
  const file = await open(path);
  return importOrganization(log, file, { dryRun }).finally(() => file.close());
};

const linesOf = (path: string): string[] => gunzipSync(readFileSync(path)).toString().trimEnd().split('\n');
/** Writes a file with these lines and a trailer that matches them, except for the given properties. */
const write = (lines: readonly string[], trailer: object = {}): string => {
  const path = join(folder, randomUUID());
  const types: Record<string, number> = {};
  for (const { type } of lines.slice(1).map((line) => JSON.parse(line) as { type: string }))
    types[type] = (types[type] ?? 0) + 1;
  const sorted = Object.fromEntries(Object.entries(types).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = lines.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  const end = JSON.stringify({ events: lines.length - 1, types: sorted, sha256, ...trailer });
  writeFileSync(path, gzipSync(`${text}${end}\n`));
  return path;
};

/** A page that ends before the wrong line shows the missing revision first. */
const WRONG_ORDER =
  /^(?:Line \d+: .*not in the order of the log|The file does not have all events of stream threat-acme:long)/;

let opened: OpenLog[] = [];
const opening = async (open: () => Promise<OpenLog>): Promise<EventLog> => {
  const each = await open();
  opened.push(each);
  return each.log;
};
afterEach(async () => {
  for (const each of opened) await each.close();
  opened = [];
});

/** The part of an event of the organization that an import keeps. */
const keptPart = ({ stream, revision, id, type, data, metadata }: RecordedEvent) => ({
  stream,
  revision: organizationOf(stream) === undefined ? undefined : revision,
  id,
  type,
  data,
  metadata,
});
/** What the log of `fill` has of acme, in an independent formulation. */
const partOfAcme = (events: readonly RecordedEvent[]) =>
  events
    .filter(
      ({ stream, data }) =>
        /^\w+-acme(?::|$)/.test(stream) ||
        ['only-acme', 'deleted-acme', 'shared', 'taken-away'].includes((data as { changeId: string }).changeId),
    )
    .map(keptPart)
    .map((event) => {
      const data = event.data as { organization?: string; brandReviews?: { organization: string }[] };
      if (data.organization === 'beta') return { ...event, data: {} };
      if (!data.brandReviews) return event;
      return { ...event, data: { ...data, brandReviews: data.brandReviews.filter((r) => r.organization === 'acme') } };
    });

describe.each(
  logs.flatMap(([from, openSource]) => logs.map(([to, openTarget]) => ({ from, to, openSource, openTarget }))),
)(
  'An organization that is exported from a log in $from and imported into a log in $to',
  ({ openSource, openTarget }) => {
    it('has the same events with the same ids and revisions, and the file has nothing of other organizations', async () => {
      const [source, target] = [await opening(openSource), await opening(openTarget)];
      await fill(source);
      const path = join(folder, randomUUID());
      await exportTo(source, 'acme', path);
      const text = linesOf(path).join('\n');
      expect(text).not.toMatch(/beta|acme-2|acm"|acm:|ApiKey/);
      const events = linesOf(path).length - 2;
      expect(await importFrom(target, path, true)).toMatchObject({ events, present: 0 });
      expect(await everything(target)).toEqual([]);
      expect(await importFrom(target, path)).toMatchObject({ organization: 'acme', events, present: 0 });
      const byStream = (parts: ReturnType<typeof partOfAcme>) => parts.sort((a, b) => (a.stream < b.stream ? -1 : 1));
      expect(byStream((await everything(target)).map(keptPart))).toEqual(
        byStream(partOfAcme(await everything(source))),
      );
      expect(await importFrom(target, path)).toMatchObject({ events, present: events });
      expect(await everything(target)).toHaveLength(events);
    });
  },
);

describe('organizations export', () => {
  let source: EventLog;
  let path: string;
  beforeEach(async () => {
    source = await opening(openPostgres);
    path = join(folder, randomUUID());
    await fill(source);
  });

  it('writes CloudEvents in the order of the log between a header and a trailer', async () => {
    await exportTo(source, 'acme', path);
    const [header, ...events] = linesOf(path).map((line) => JSON.parse(line) as Record<string, unknown>);
    const trailer = events.pop()!;
    const positions = { after: '-1', upTo: String(await source.head()) };
    expect(header).toEqual({
      format: 'threat-protection/organization',
      version: 1,
      logId: await source.id(),
      organization: 'acme',
      positions,
    });
    const [first] = await source.readStream('threat-acme:t1', 0n, 1);
    expect(events).toContainEqual({
      specversion: '1.0',
      id: first!.id,
      source: `urn:uuid:${await source.id()}`,
      type: 'ThreatStatusChanged',
      time: new Date(first!.recordedAt).toISOString(),
      stream: 'threat-acme:t1',
      revision: '0',
      position: String(first!.position),
      metadata: JSON.stringify(first!.metadata),
      data: first!.data,
    });
    const order = events.map(({ position }) => Number(position));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(trailer).toMatchObject({ events: events.length, types: { ReportFiled: 1, AssetStatusChanged: 5 } });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('writes no file if the log has no event of the organization, or if the call is interrupted', async () => {
    const before = readdirSync(folder);
    await expect(exportTo(source, 'acme-3', path)).rejects.toThrow('The log has no event of acme-3');
    const interruption = new AbortController();
    const onProgress = (): void => interruption.abort();
    const text = exportOrganization(source, 'acme', onProgress, () => {});
    await expect(writeAtomically(path, text, interruption.signal)).rejects.toThrow('aborted');
    expect(readdirSync(folder)).toEqual(before);
  });

  it('leaves out the repetitions that an EventStoreDB stored, and numbers the other events without gaps', async () => {
    const events = recordedInOrder([
      sentThreat('a', {}, '1'),
      sentThreat('a', {}, '1'),
      sentThreat('a', { status: 'REJECTED' }, '2'),
    ]);
    const store = { id: async () => 'log', head: async () => 2n, readAll: async () => events, positionUnit: 'bytes' };
    await exportTo(store as unknown as EventLog, 'acme', path);
    expect(
      linesOf(path)
        .slice(1, -1)
        .map((line) => JSON.parse(line) as { revision: string; id: string })
        .map(({ id, revision }) => [id, revision]),
    ).toEqual([
      [events[0]!.id, '0'],
      [events[2]!.id, '1'],
    ]);
    const target = await opening(openPostgres);
    expect(await importFrom(target, path)).toMatchObject({ events: 2, present: 0 });
  });
});

describe('organizations import', () => {
  /** A file that all tests share. A test that exports something else writes a file of its own. */
  const path = join(folder, randomUUID());
  let lines: string[];
  let target: EventLog;
  beforeAll(async () => {
    const source = await openPostgres();
    await fill(source.log);
    await exportTo(source.log, 'acme', path);
    await source.close();
    lines = linesOf(path).slice(0, -1);
  });
  beforeEach(async () => {
    target = await opening(openPostgres);
  });
  const refused = async (file: string, reason: RegExp): Promise<void> => {
    const before = await everything(target);
    await expect(importFrom(target, file)).rejects.toThrow(reason);
    await expect(importFrom(target, file, true)).rejects.toThrow(reason);
    expect(await everything(target)).toEqual(before);
  };
  const changed = (change: (file: Buffer) => Buffer): string => {
    const file = join(folder, randomUUID());
    writeFileSync(file, change(readFileSync(path)));
    return file;
  };

  it.each([1, 9, 10, 11, 100, 1_000])('refuses a file that ends %i bytes early', async (bytes) => {
    await refused(
      changed((file) => file.subarray(0, -bytes)),
      /^The file cannot be decompressed/,
    );
  });

  it('refuses a file without its last lines', async () => {
    const text = (end: number) => gzipSync(`${linesOf(path).slice(0, end).join('\n')}\n`);
    for (const end of [-1, -5])
      await refused(
        changed(() => text(end)),
        /the file ends before its last line/,
      );
    await refused(
      changed(() => text(0)),
      /Line 1: /,
    );
    await refused(
      changed(() => gzipSync('')),
      /Line 1: the file ends before its last line/,
    );
  });

  it('refuses a file with one changed byte, whatever the byte is', async () => {
    const { length } = readFileSync(path);
    for (let at = 10; at < length; at += Math.ceil(length / 25))
      await expect(
        importFrom(
          target,
          changed((file) => {
            file[at]! ^= 1;
            return file;
          }),
        ),
      ).rejects.toThrow(/^(?:Line \d+: |The file cannot be decompressed)/);
    expect(await everything(target)).toEqual([]);
  });

  it('refuses a file whose text was changed, reordered or continued after the export', async () => {
    const text = (change: (all: string[]) => string[]) =>
      changed(() => gzipSync(`${change(linesOf(path)).join('\n')}\n`));
    const digest = /the digest does not match: the file was changed/;
    await refused(
      text((all) => all.map((line) => line.replace('"REJECTED"', '"APPROVED"'))),
      digest,
    );
    await refused(
      text((all) => [all[0]!, all[2]!, all[1]!, ...all.slice(3)]),
      digest,
    );
    await refused(
      text((all) => [...all.slice(0, 3), ...all.slice(4)]),
      digest,
    );
    await refused(
      text((all) => [...all, all[1]!]),
      /continues after its end/,
    );
  });

  it('refuses a file with wrong counts, even if the digest matches', async () => {
    await refused(write(lines, { events: lines.length }), /counts of the last line/);
    await refused(write(lines, { types: { ReportFiled: lines.length - 1 } }), /counts of the last line/);
    expect(await importFrom(target, write(lines))).toMatchObject({ events: lines.length - 1 });
  });

  it.each(['acme-2', 'acm', 'beta'])(
    'refuses a file whose header names %s, even if the digest matches',
    async (slug) => {
      const file = write(lines.map((line, index) => (index === 0 ? line.replace('"acme"', `"${slug}"`) : line)));
      await refused(file, new RegExp(`does not belong to ${slug}`));
    },
  );

  it.each([
    ['of the stream of the keys', { stream: 'apiKeys' }],
    ['of the operations', { stream: 'operations' }],
    ['of another service', { stream: 'orders-acme:1' }],
    ['without a stream', { stream: undefined }],
    ['with an id that is no UUID', { id: 'a' }],
    ['without a revision', { revision: null }],
    ['without data', { data: undefined }],
  ])('refuses a file with an event %s, even if the digest matches', async (_, properties) => {
    const event = { ...(JSON.parse(lines[1]!) as object), stream: 'threat-acme:9', revision: '0', ...properties };
    await refused(write([...lines, JSON.stringify(event)]), /^Line \d+: (?:not an event|.* does not belong to acme)/);
  });

  it.each([
    ['an unknown format', /"threat-protection\/organization"/, '"other"', /not a file of `organizations export`/],
    ['another version of the format', /"version":1/, '"version":2', /version 2 of the format/],
    ['no log id', /"logId"/, '"other"', /the header is incomplete/],
  ])('refuses a file with %s', async (_, pattern, text, reason) => {
    await refused(write([lines[0]!.replace(pattern, text), ...lines.slice(1)]), reason);
  });

  it('refuses a file that lacks an event of a stream, even if the digest matches', async () => {
    const file = write(lines.filter((line) => !/"threat-acme:t1","revision":"1"/.test(line)));
    await refused(file, /^The file does not have all events of stream threat-acme:t1/);
    const first = write(lines.filter((line) => !/"threat-acme:t1","revision":"0"/.test(line)));
    await refused(
      first,
      /^The file does not have all events of stream threat-acme:t1: revision 1 comes where 0 should/,
    );
  });

  it.each([2, 1_500])(
    'refuses a file with swapped, repeated or renumbered lines %s events apart, even if the digest matches',
    async (count) => {
      const [header, one] = [lines[0]!, JSON.parse(lines[1]!) as object];
      const line = (revision: number, position = revision): string => {
        const stream = 'threat-acme:long';
        return JSON.stringify({
          ...one,
          id: randomUUID(),
          stream,
          revision: String(revision),
          position: String(position),
        });
      };
      const head = header.replace(/"upTo":"\d+"/, '"upTo":"9999"');
      const all = Array.from({ length: count }, (_, n) => line(n));
      const [last, before] = [all.at(-1)!, all.slice(0, -1)];
      await refused(write([head, ...all.slice(1), all[0]!]), WRONG_ORDER);
      await refused(write([head, last, ...before]), WRONG_ORDER);
      await refused(write([head, ...all, last]), WRONG_ORDER);
      await refused(write([head, ...all, line(count, 10_000)]), WRONG_ORDER);
      await refused(
        write([head, ...all, line(count - 1, count)]),
        /does not have all events of stream threat-acme:long/,
      );
      await refused(
        write([head, ...before, line(count, count)]),
        /does not have all events of stream threat-acme:long/,
      );
      expect(await importFrom(target, write([head, ...all]))).toMatchObject({ events: count });
    },
  );

  it('refuses a file of an erased organization', async () => {
    const logId = await target.id();
    const started = (organization: string): NewEvent => ({
      id: randomUUID(),
      type: 'OrganizationErasureStarted',
      data: { logId, digest: erasureDigest(logId, organization), startedAt: '2026-01-01T00:00:00.000Z' },
      metadata: {},
    });
    await target.append('operations', 'any', [started('acme-2')]);
    expect(await importFrom(target, path, true)).toMatchObject({ present: 0 });
    await target.append('operations', 'any', [started('acme')]);
    await refused(path, /^acme was erased from this installation/);
  });

  it('refuses a file if a stream holds other events, and stores nothing', async () => {
    await target.append('assetGroups-acme', 'no-stream', [own('AssetGroupCreated', 'acme')]);
    await refused(path, /^Stream assetGroups-acme holds other events than the file/);
  });

  const importPart = async (into: EventLog, file: string, events: number): Promise<void> => {
    let appends = 0;
    const failing = new Proxy(into, {
      get: (log, name) =>
        name === 'append'
          ? async (...args: Parameters<EventLog['append']>) => {
              if (++appends > events) throw new Error('killed');
              return log.append(...args);
            }
          : ((Reflect.get(log, name) as () => unknown).bind?.(log) ?? Reflect.get(log, name)),
    });
    await expect(importFrom(failing, file)).rejects.toThrow('killed');
    expect(await everything(into)).toHaveLength(events);
  };

  it('continues after an interruption, and stores each event once in the order of the file', async () => {
    await importPart(target, path, 7);
    expect(await importFrom(target, path)).toMatchObject({ present: 7, events: lines.length - 1 });
    const ids = lines.slice(1).map((line) => (JSON.parse(line) as { id: string }).id);
    expect((await everything(target)).map(({ id }) => id)).toEqual(ids);
  });

  const redactThreat = async (log: EventLog, threatId: string): Promise<void> => {
    const { metadata } = (await log.readStream(`threat-acme:${threatId}`, 0n, 1))[0]!;
    const { hash: assetHash } = (metadata as { assetKey: { hash: string } }).assetKey;
    const data = { organization: 'acme', kind: 'threat', id: threatId, assetHash, redactedAt: '2026-06-01T00:00:00Z' };
    const redacted = { id: randomUUID(), type: 'ContentRedacted', data, metadata: {} };
    await log.append(`threat-acme:${threatId}`, 'any', [redacted]);
  };

  it('continues after a redaction between two calls, and stores later states behind the redaction', async () => {
    const [before, events] = [3, lines.length - 1];
    await importPart(target, path, before);
    await redactThreat(target, 't1');
    await redactThreat(target, 'acme:t2');
    expect(await importFrom(target, path)).toMatchObject({ present: before, events });
    const states = (await target.readStream('threat-acme:t1', 0n, 10)).map(({ type, data }) => [
      type,
      (data as { status?: string }).status,
    ]);
    expect(states).toEqual([
      ['ThreatStatusChanged', expect.any(String)],
      ['ContentRedacted', undefined],
      ['ThreatStatusChanged', 'REJECTED'],
      // Stored by a program in the wrong stream.
      ['ThreatStatusChanged', undefined],
    ]);
    expect(await importFrom(target, path)).toMatchObject({ present: events, events });
    await redactThreat(target, 't1');
    expect(await importFrom(target, path)).toMatchObject({ present: events, events });
    expect(await everything(target)).toHaveLength(events + 3);
  });

  it('tells a redaction in the file from a redaction in this installation', async () => {
    await importFrom(target, path);
    await redactThreat(target, 't1');
    const redacted = join(folder, randomUUID());
    await exportTo(target, 'acme', redacted);
    const next = await opening(openPostgres);
    await importPart(next, redacted, 3);
    await redactThreat(next, 't1');
    expect(await importFrom(next, redacted)).toMatchObject({ present: 3, events: lines.length });
    expect(await importFrom(next, redacted)).toMatchObject({ present: lines.length });
    const ids = (await next.readStream('threat-acme:t1', 0n, 10)).map(({ id }) => id);
    const inFile = (await target.readStream('threat-acme:t1', 0n, 10)).map(({ id }) => id);
    expect(ids).toEqual([inFile[0], ids[1], ...inFile.slice(1)]);
  });

  it('keeps later events of the organization in this installation', async () => {
    await importFrom(target, path);
    await target.append('assetGroups-acme', 1n, [own('AssetGroupCreated', 'acme')]);
    await target.appendAll([stored(sentThreat('new'))]);
    expect(await importFrom(target, path)).toMatchObject({ present: lines.length - 1 });
  });

  it('does not bring back what a later state of the same instant has replaced, however often a file is imported', async () => {
    const source = await opening(openPostgres);
    const idOf = (id: string): string => eventId(sentStatus('replaced', {}, id));
    const [first, second] = ['state-1', 'state-2'].sort((one, other) => (idOf(one) < idOf(other) ? -1 : 1));
    await source.appendAll([
      stored(sentStatus('replaced', { brandReviews: [review('acme', 'shoes'), review('beta')] }, first)),
      stored(sentStatus('replaced', { brandReviews: [review('beta')] }, second)),
    ]);
    const [acme, beta] = [join(folder, randomUUID()), join(folder, randomUUID())];
    await exportTo(source, 'acme', acme);
    await exportTo(source, 'beta', beta);
    for (const file of [acme, acme, beta, acme, beta]) await importFrom(target, file);
    const states = (await everything(target)).filter(
      ({ data }) => (data as { changeId?: string }).changeId === 'replaced',
    );
    const inForce = states.reduce((a, b) => (a.id > b.id ? a : b));
    expect((inForce.data as { brandReviews: unknown[] }).brandReviews).toEqual([review('beta')]);
    expect(await importFrom(target, acme, true)).toMatchObject({ events: 2, present: 2 });
  });

  it('names all brands of a verdict after several organizations of the verdict were imported', async () => {
    const source = await opening(openPostgres);
    await fill(source);
    const files: string[] = [];
    for (const organization of ['acme', 'beta', 'acme-2']) {
      const file = join(folder, randomUUID());
      await exportTo(source, organization, file);
      files.push(file);
    }
    for (const file of files) {
      expect(await importFrom(target, file)).not.toMatchObject({ events: 0 });
      const { events, present } = await importFrom(target, file);
      expect(present).toBe(events);
    }
    for (const file of files) {
      const { events, present } = await importFrom(target, file);
      expect(present).toBe(events);
    }
    const states = (await everything(target)).filter(
      ({ data }) => (data as { changeId?: string }).changeId === 'shared',
    );
    const inForce = states.reduce((a, b) => (a.id > b.id ? a : b));
    expect(states.length).toBe(3);
    expect((inForce.data as { brandReviews: unknown[] }).brandReviews).toEqual([
      review('acme', 'b'),
      review('acme'),
      review('beta'),
      review('acme-2'),
    ]);
  });

  it('stores nothing of a redacted asset when another organization of its verdict is imported', async () => {
    const source = await opening(openPostgres);
    const asset = { type: 'URL', content: 'Secret.example/PATH' };
    const verdict = stored(sentStatus('shared-asset', { asset, brandReviews: [review('acme'), review('beta')] }));
    await source.appendAll([verdict]);
    const beta = join(folder, randomUUID());
    await exportTo(source, 'beta', beta);
    // What the import of acme and a redaction leave.
    const { data, metadata } = redactContent(verdict.event as Content & NewEvent);
    const left = { ...verdict.event, data: { ...data, brandReviews: [review('acme')] }, metadata };
    await target.append(verdict.stream, 'no-stream', [left]);
    expect(await importFrom(target, beta)).toMatchObject({ present: 0 });
    const events = await everything(target);
    expect(events).toHaveLength(2);
    expect(events[1]!.data).toMatchObject({ brandReviews: [review('acme'), review('beta')] });
    expect(events.filter(({ data, metadata }) => /secret/i.test(JSON.stringify([data, metadata])))).toEqual([]);
    const hashes = events.map(({ metadata }) => (metadata as { assetKey: { hash: string } }).assetKey.hash);
    expect(hashes[1]).toBe(hashes[0]);
  });
});
