import { beforeEach, describe, expect, it } from '@jest/globals';
import { assetStatuses } from '../../../projections/asset-statuses.js';
import { listParked } from '../../../projections/engine/parked.js';
import { rebuild } from '../../../projections/engine/rebuild.js';
import { HostingSuffixes, shippedSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import { OwnStatuses } from '../../../src/asset-check/own/own-statuses.js';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { parseContent } from '../../../src/assets/parse-content.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { emptiedDatabase } from '../../support/open-for-tests.js';
import { projectToHead, retryAndProject } from '../../support/projecting.js';
import { delivered } from '../../support/histories.js';
import { seeds } from '../../support/full-size.js';
import { Random } from '../../support/random.js';
import { eventId, recordedInOrder, sent, type Sent } from '../../support/upstream.js';
import { hostileContents } from '../../support/cases/hostile-shapes.js';
import { brief } from '../../support/list-of.js';

const BASE = Date.parse('2026-03-01T00:00:00Z');
const CREATED = '2026-03-01T00:00:00Z';

describe('OwnStatuses', () => {
  const database = emptiedDatabase();
  let own: OwnStatuses;
  let messages: string[];
  let log: InMemoryEventLog;

  const ownStatuses = (maxBytes = 1e9): OwnStatuses => {
    const suffixes = new HostingSuffixes([...shippedSuffixes(), 'blogs.example']);
    const currentLog: Pick<EventLog, 'has' | 'readStream'> = {
      has: (place) => log.has(place),
      readStream: (...given) => log.readStream(...given),
    };
    return new OwnStatuses(database.pool, currentLog, suffixes, maxBytes, (sentence) => messages.push(sentence));
  };

  beforeEach(async () => {
    messages = [];
    log = new InMemoryEventLog();
    own = ownStatuses();
  });

  const entry = (changeId: string, type: string, content: string, status: string, createdAt = CREATED): Sent =>
    sent('AssetStatusChanged', { changeId, asset: { type, content }, status, brandReviews: [], createdAt });

  /** Projects new events and refreshes the statuses. */
  const projectAndRefresh = async (events: readonly Sent[]): Promise<InMemoryEventLog> => {
    log = new InMemoryEventLog(recordedInOrder(events));
    await projectToHead(log, database.pool, [assetStatuses]);
    await own.refresh();
    return log;
  };

  const ask = (content: string): string => brief(own.check(parseContent(content).parsed!));

  it('return source-error until they are read', async () => {
    expect(ask('evil.example')).toBe('source-error');
    await own.refresh();
    expect(ask('evil.example')).toBe('not-found');
  });

  it('inherit from the nearest parent domain, but not from a hosting suffix or a public suffix', async () => {
    await projectAndRefresh([
      entry('1', 'URL', 'evil.example', 'BLOCKED'),
      entry('2', 'URL', 'good.evil.example', 'ALLOWED'),
      entry('3', 'URL', 'undecided.evil.example', 'UNKNOWN'),
      entry('4', 'URL', 'github.io', 'BLOCKED'),
      entry('5', 'URL', 'blogs.example', 'BLOCKED'),
      entry('6', 'URL', 'co.uk', 'BLOCKED'),
      entry('7', 'URL', 'medium.com', 'ALLOWED'),
      entry('8', 'PAGE', 'https://evil2.example/page', 'BLOCKED'),
      entry('9', 'URL', '8.8.8.8', 'BLOCKED'),
    ]);
    expect(ask('evil.example')).toBe('BLOCKED evil.example');
    expect(ask('a.evil.example')).toBe('BLOCKED evil.example parent-domain');
    expect(ask('good.evil.example')).toBe('ALLOWED good.evil.example');
    expect(ask('a.b.good.evil.example')).toBe('ALLOWED good.evil.example parent-domain');
    // An asset with the status UNKNOWN has no own status.
    expect(ask('undecided.evil.example')).toBe('BLOCKED evil.example parent-domain');
    expect(ask('github.io')).toBe('BLOCKED github.io');
    expect(ask('someone.github.io')).toBe('github.io hosting-domain');
    expect(ask('someone.blogs.example')).toBe('blogs.example hosting-domain');
    expect(ask('shop.co.uk')).toBe('not-found');
    expect(ask('https://medium.com/@someone')).toBe('medium.com hosting-domain');
    expect(ask('https://evil2.example/page?x')).toBe('BLOCKED https://evil2.example/page');
    expect(ask('https://evil2.example/other')).toBe('not-found');
    expect(ask('8.8.8.8:53')).toBe('BLOCKED 8.8.8.8');
    expect(ask('@nobody')).toBe('not-found');
  });

  it('are refreshed by reading only changed rows', async () => {
    const events = [entry('1', 'URL', 'one.example', 'BLOCKED')];
    await projectAndRefresh(events);
    expect(ask('one.example')).toBe('BLOCKED one.example');
    events.push(
      entry('2', 'URL', 'two.example', 'ALLOWED'),
      entry('3', 'URL', 'one.example', 'UNKNOWN', '2026-03-02T00:00:00Z'),
    );
    await projectAndRefresh(events);
    expect([ask('one.example'), ask('two.example')]).toEqual(['not-found', 'ALLOWED two.example']);
    expect(own.known).toBe(1);
  });

  it.each(seeds(3, 30))(
    'are at each instant those of the newest entries that have not expired, whatever the order of arrival (seed %d)',
    async (seed) => {
      const random = new Random(seed);
      const hosts = ['a.example', 'www.a.example', 'b.example'];
      const at = (ms: number): string => new Date(BASE + ms).toISOString();
      const events = Array.from({ length: 120 }, (_, n): Sent => {
        const asset = { type: 'URL', content: random.pick(hosts) };
        const changeId = `c${random.int(60)}`;
        if (n % 10 === 0) return sent('AssetStatusChangeDeleted', { changeId, asset, deletedAt: at(n) });
        const [status, createdAt] = [random.pick(['BLOCKED', 'ALLOWED', 'UNKNOWN']), random.int(20)];
        const data = { changeId, asset, status, brandReviews: [], createdAt: at(createdAt) };
        const expiresAt = createdAt + 1 + random.int(60);
        return sent('AssetStatusChanged', random.chance(0.9) ? { ...data, expiresAt: at(expiresAt) } : data);
      });
      const rankOf = ({ data, ...event }: Sent): string => `${data['createdAt']} ${eventId({ data, ...event })}`;
      const entries = new Map<string, Sent>();
      const isDeletion = ({ type }: Sent): boolean => type === 'AssetStatusChangeDeleted';
      for (const event of events.filter((each) => !isDeletion(each))) {
        const known = entries.get(event.data['changeId'] as string);
        if (known === undefined || rankOf(event) > rankOf(known)) entries.set(event.data['changeId'] as string, event);
      }
      for (const event of events.filter(isDeletion)) entries.delete(event.data['changeId'] as string);
      /** The newest entry of a host that neither is deleted nor has expired. */
      const naive = (host: string, ms: number): string => {
        const newest = [...entries.values()]
          .filter(({ data }) => (data['asset'] as { content: string }).content === host)
          .filter(({ data }) => data['expiresAt'] === undefined || Date.parse(data['expiresAt'] as string) > BASE + ms)
          .sort((x, y) => (rankOf(x) < rankOf(y) ? 1 : -1))[0];
        return newest === undefined ? 'UNKNOWN' : (newest.data['status'] as string);
      };
      for (let order = 0; order < 2; order += 1) {
        await database.pool.query('truncate read.asset_statuses, read.asset_status_entries, read.checkpoints');
        own = ownStatuses();
        await projectAndRefresh(delivered(random, events));
        const { parsed } = parseContent('www.a.example');
        for (let ms = 0; ms < 90; ms += 1) {
          const result = own.check(parsed!, BASE + ms);
          const status = naive('www.a.example', ms) === 'UNKNOWN' ? naive('a.example', ms) : naive('www.a.example', ms);
          expect([ms, result.status]).toEqual([ms, status]);
          // The result is the same until the instant that the check names.
          const until = (result.validUntil ?? BASE + 90) - BASE;
          expect(until).toBeGreaterThan(ms);
          for (let later = ms; later < Math.min(until, 90); later += 1)
            expect(own.check(parsed!, BASE + later)).toMatchObject({ status: result.status });
        }
      }
    },
  );

  const expiring = (changeId: string, content: string, expiresAt: string, status = 'BLOCKED'): Sent => {
    const one = entry(changeId, 'URL', content, status);
    return { ...one, data: { ...one.data, expiresAt } };
  };

  it('are valid until the first status that was read expires, also one that decides nothing', async () => {
    const [first, second] = ['2026-03-02T00:00:00.000Z', '9999-03-02T00:00:00.000Z'];
    const older = entry('1', 'URL', 'www.a.example', 'BLOCKED');
    await projectAndRefresh([
      { ...older, data: { ...older.data, createdAt: '2026-02-01T00:00:00Z' } },
      expiring('2', 'www.a.example', first, 'UNKNOWN'),
      expiring('3', 'a.example', second, 'ALLOWED'),
    ]);
    const { parsed } = parseContent('www.a.example');
    expect(own.check(parsed!, BASE)).toMatchObject({ status: 'ALLOWED', validUntil: Date.parse(first) });
    expect(own.check(parsed!, Date.parse(first))).toMatchObject({ status: 'BLOCKED' });
  });

  it('are removed from memory once they have expired', async () => {
    const [past, future] = ['2026-03-02T00:00:00Z', '9999-03-02T00:00:00Z'];
    await projectAndRefresh([expiring('1', 'over.example', past), expiring('2', 'now.example', future)]);
    expect([own.known, own.nextExpiry(BASE)]).toEqual([1, Date.parse(future)]);
    expect([ask('over.example'), ask('now.example')]).toEqual(['not-found', 'BLOCKED now.example']);
  });

  it('are kept for a day after they have expired, for a clock that is set back', async () => {
    const hoursAgo = (hours: number): number => Date.now() - hours * 3_600_000;
    const expired = (id: string, hours: number): Sent =>
      expiring(id, `${id}.example`, new Date(hoursAgo(hours)).toISOString());
    await projectAndRefresh([expired('kept', 23), expired('over', 25)]);
    const at = (content: string, hours: number): unknown =>
      own.check(parseContent(content).parsed!, hoursAgo(hours)).status;
    expect([at('kept.example', 0), at('kept.example', 24), at('over.example', 26)]).toEqual([
      'UNKNOWN',
      'BLOCKED',
      'UNKNOWN',
    ]);
  });

  it('are read completely if they fill several pages, each row once', async () => {
    const events = Array.from({ length: 12_345 }, (_, n) => entry(`c${n}`, 'URL', `site-${n}.example`, 'BLOCKED'));
    await projectAndRefresh(events);
    expect(own.known).toBe(12_345);
    expect(ask('site-12344.example')).toBe('BLOCKED site-12344.example');
  });

  it('are read completely if more rows than a page changed at one position', async () => {
    await database.pool.query(`
      insert into read.asset_statuses (asset_hash, asset, status, created_at, position)
      select md5(n::text), 'URL:site-' || n || '.example', 'BLOCKED', 0, 7 from generate_series(1, 12345) n`);
    await own.refresh();
    expect(own.known).toBe(12_345);
  });

  it('apply to everything under a page or profile, and to mailboxes at a host', async () => {
    await projectAndRefresh([
      entry('1', 'PAGE', 'https://sites.google.com/view/evil', 'BLOCKED'),
      entry('2', 'MEDIUM', '@evil', 'BLOCKED'),
      entry('3', 'GITHUB', 'https://github.com/Evil', 'BLOCKED'),
      entry('4', 'URL', 'evil.example', 'BLOCKED'),
      entry('5', 'PAGE', 'evil.example/ok', 'ALLOWED'),
      entry('6', 'URL', 'good.example', 'ALLOWED'),
      entry('7', 'PAGE', 'good.example/a/evil', 'BLOCKED'),
      entry('8', 'URL', 'gmail.com', 'ALLOWED'),
      entry('9', 'URL', 'github.io', 'BLOCKED'),
      entry('10', 'EMAIL', 'friend@evil.example', 'ALLOWED'),
    ]);
    for (const [content, result] of [
      ['sites.google.com/view/evil', 'BLOCKED https://sites.google.com/view/evil'],
      ['sites.google.com/view/evil/login/x', 'BLOCKED https://sites.google.com/view/evil parent-domain'],
      ['sites.google.com/view/evil2', 'not-found'],
      ['sites.google.com/view', 'not-found'],
      ['https://medium.com/@evil', 'BLOCKED @evil'],
      ['https://medium.com/@evil/a-post', 'BLOCKED @evil parent-domain'],
      ['https://medium.com/@evil2/a-post', 'not-found'],
      ['github.com/evil/drainer', 'BLOCKED https://github.com/Evil parent-domain'],
      ['evil.example/x/y', 'BLOCKED evil.example'],
      ['evil.example/ok/y', 'BLOCKED evil.example'],
      ['good.example/a', 'ALLOWED good.example'],
      ['good.example/a/evil/login', 'BLOCKED good.example/a/evil parent-domain'],
      ['someone@evil.example', 'BLOCKED evil.example parent-domain'],
      ['someone@mail.evil.example', 'BLOCKED evil.example parent-domain'],
      ['friend@evil.example', 'ALLOWED friend@evil.example'],
      ['someone@gmail.com', 'gmail.com hosting-domain'],
      ['someone@github.io', 'github.io hosting-domain'],
    ])
      expect({ content, result: ask(content!) }).toEqual({ content, result });
  });

  it('match a profile by its own host, and the posts on that host', async () => {
    await projectAndRefresh([
      entry('1', 'MEDIUM', 'https://medium.com/@evil', 'BLOCKED'),
      entry('2', 'URL', 't.me', 'ALLOWED'),
      entry('3', 'TELEGRAM', 'evil', 'BLOCKED'),
    ]);
    expect(ask('evil.medium.com')).toBe('BLOCKED https://medium.com/@evil');
    expect(ask('evil.medium.com/a-post')).toBe('BLOCKED https://medium.com/@evil parent-domain');
    expect(ask('other.medium.com/a-post')).toBe('not-found');
    expect(ask('evil.t.me')).toBe('BLOCKED evil');
    expect(ask('other.t.me')).toBe('t.me hosting-domain');
  });

  it('return not-found within a few milliseconds for content crafted to be slow', async () => {
    await projectAndRefresh([
      entry('1', 'URL', 'evil.example', 'BLOCKED'),
      entry('2', 'URL', 'blogs.example', 'BLOCKED'),
    ]);
    const blogs: [string, string] = ['labels of a blog', `https://${'a.'.repeat(2_000)}blogs.example/`];
    for (const [name, content] of [blogs, ...hostileContents(4_096)]) {
      const { parsed } = parseContent(content);
      if (parsed === undefined) continue;
      let least = Number.POSITIVE_INFINITY;
      for (let run = 0; run < 20 && least > 0.5; run += 1) {
        const started = performance.now();
        own.check(parsed);
        least = Math.min(least, performance.now() - started);
      }
      expect({ name, isSlow: least > 2 }).toEqual({ name, isSlow: false });
    }
  });

  it('return the matching entry as upstream wrote it', async () => {
    const events = [entry('1', 'URL', 'https://Evil.example/a?b', 'BLOCKED')];
    await projectAndRefresh(events);
    expect(ask('x.evil.example')).toBe('BLOCKED https://Evil.example/a?b parent-domain');
    events.push(entry('2', 'URL', 'hxxps://evil[.]example', 'BLOCKED', '2026-03-02T00:00:00Z'));
    events.push(entry('3', 'URL', 'EVIL.example', 'BLOCKED', '2026-02-02T00:00:00Z'));
    await projectAndRefresh(events);
    expect(ask('evil.example')).toBe('BLOCKED hxxps://evil[.]example');
  });

  it('are found under current keys if an earlier version stored other keys', async () => {
    await database.pool.query(`
      insert into read.asset_statuses (asset_hash, asset, status, created_at, position) values
        ('1', 'URL:[::ffff:808:808]', 'BLOCKED', 0, 1), ('2', 'PAGE:[::ffff:808:404]/x', 'BLOCKED', 0, 2),
        ('3', 'URL:[64:ff9b::101:101]', 'BLOCKED', 0, 3),
        ('4', 'LINKEDIN:https://de.linkedin.com/in/evil', 'BLOCKED', 0, 4),
        ('5', 'ADDRESS:solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp:So11111111111111111111111111111111111111112', 'BLOCKED', 0, 5)`);
    await own.refresh();
    expect(ask('1.1.1.1')).toMatch(/^BLOCKED/);
    expect(ask('https://www.linkedin.com/in/Evil')).toMatch(/^BLOCKED/);
    expect(ask('So11111111111111111111111111111111111111112')).toMatch(/^BLOCKED/);
    expect(ask('http://[::ffff:8.8.8.8]/')).toBe('BLOCKED 8.8.8.8');
    expect(ask('8.8.8.8')).toBe('BLOCKED 8.8.8.8');
    expect(ask('8.8.4.4/x')).toBe('BLOCKED 8.8.4.4/x');
  });

  it('are read completely again after a rebuild', async () => {
    const events = [entry('1', 'URL', 'one.example', 'BLOCKED'), entry('2', 'URL', 'two.example', 'BLOCKED')];
    const log = await projectAndRefresh(events);
    // Simulates a rebuild with a corrected projection, which writes other rows at the same positions.
    await rebuild({ pool: database.pool, log }, [assetStatuses]);
    await database.pool.query(`update read.asset_statuses set status = 'ALLOWED' where asset = 'URL:one.example'`);
    await own.refresh();
    expect(ask('one.example')).toBe('ALLOWED one.example');
  });

  /** Replaces the last events, as a failover that loses events does. */
  const failOver = async (events: readonly Sent[], recordedLater: number): Promise<void> => {
    await database.pool.query(`
      truncate read.asset_statuses, read.asset_status_entries;
      delete from read.checkpoints where projection = 'asset-statuses'`);
    const recorded = recordedInOrder(events);
    log = new InMemoryEventLog(recorded.map((event) => ({ ...event, recordedAt: event.recordedAt + recordedLater })));
    await projectToHead(log, database.pool, [assetStatuses]);
  };

  const kept = entry('1', 'URL', 'kept.example', 'BLOCKED');
  const lost = entry('2', 'URL', 'lost.example', 'BLOCKED');
  const last = entry('3', 'URL', 'last.example', 'BLOCKED');
  const other = entry('4', 'URL', 'other.example', 'BLOCKED');
  const another = entry('5', 'URL', 'another.example', 'BLOCKED');
  it.each<[string, readonly Sent[]]>([
    ['fewer events took the positions of the lost events', [kept, other]],
    ['as many events took the positions of the lost events', [kept, other, another]],
    [
      'more events took the positions of the lost events',
      [kept, other, another, entry('6', 'URL', 'sixth.example', 'ALLOWED')],
    ],
    ['the last event was sent again and has its old position', [kept, other, last]],
    ['the last event was sent again and has an earlier position', [kept, last, other]],
  ])('equal the read models after a failover that lost events, if %s', async (_, events) => {
    await projectAndRefresh([kept, lost, last]);
    await failOver(events, 60_000);
    await own.refresh();
    const results = ['kept', 'lost', 'last', 'other', 'another', 'sixth'].map((name) => ask(`${name}.example`));
    own = ownStatuses();
    await own.refresh();
    expect(results).toEqual(
      ['kept', 'lost', 'last', 'other', 'another', 'sixth'].map((name) => ask(`${name}.example`)),
    );
    expect(results[1]).toBe('not-found');
    expect(results[3]).toBe('BLOCKED other.example');
  });

  it('include a parked event once it is retried, without reading all rows again', async () => {
    const recorded = recordedInOrder([
      entry('1', 'URL', 'one.example', 'BLOCKED'),
      entry('2', 'URL', 'two.example', 'BLOCKED'),
    ]);
    const refusing: typeof assetStatuses = {
      ...assetStatuses,
      prepare: async (events, clock) => {
        if (events.some(({ id }) => id === recorded[0]!.id)) throw new Error('not now');
        return assetStatuses.prepare(events, clock);
      },
    };
    log = new InMemoryEventLog(recorded);
    await projectToHead(log, database.pool, [refusing]);
    own = ownStatuses();
    await own.refresh();
    expect([ask('one.example'), ask('two.example')]).toEqual(['not-found', 'BLOCKED two.example']);
    const [parked] = await listParked(database.pool);
    expect(await retryAndProject({ pool: database.pool, log }, assetStatuses, parked!)).toBeUndefined();
    // Only reading all rows would find this change.
    await database.pool.query(`update read.asset_statuses set status = 'ALLOWED' where asset = 'URL:two.example'`);
    await own.refresh();
    expect([ask('one.example'), ask('two.example')]).toEqual(['BLOCKED one.example', 'BLOCKED two.example']);
  });

  it('report an error if they need more memory than allowed', async () => {
    const events = Array.from({ length: 2_000 }, (_, n) => entry(`c${n}`, 'URL', `site-${n}.example`, 'BLOCKED'));
    await projectAndRefresh(events);
    own = ownStatuses(60_000);
    expect(await own.refresh()).toBe(false);
    expect(messages).toEqual([expect.stringMatching(/more than the 60000 bytes/)]);
    expect(ask('site-1.example')).toBe('source-error');
    own = ownStatuses(400_000);
    expect(await own.refresh()).toBe(true);
    expect(own.bytes).toBeLessThanOrEqual(400_000);
  });

  it('stay in use while the database is unavailable, which is logged once', async () => {
    await projectAndRefresh([entry('1', 'URL', 'one.example', 'BLOCKED')]);
    await database.pool.query('alter schema read rename to away');
    expect([await own.refresh(), await own.refresh()]).toEqual([false, false]);
    expect(ask('one.example')).toBe('BLOCKED one.example');
    expect(messages).toEqual([expect.stringContaining('Asset statuses cannot be refreshed')]);
    await database.pool.query('alter schema away rename to read');
    expect(await own.refresh()).toBe(true);
    expect(messages).toHaveLength(2);
  });
});
