import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ApiResponse } from '../../support/call.js';
import { LISTED_KIND } from '../../../src/events/listed-items.js';
import { eventually } from '../../support/eventually.js';
import { operatorCall } from '../../support/operator-call.js';
import { sharedApp, sharedProjecting } from '../../support/open-for-tests.js';
import { Random } from '../../support/random.js';
import { sent, type Sent, sentStatus, sentThreat, stored } from '../../support/upstream.js';

jest.setTimeout(120_000);

const TYPE = 'application/taxii+json;version=2.1';
const T = '2026-03-01T00:00:00.000Z';
const LATER = '2026-03-02T00:00:00.000Z';
const THREATS = '/taxii2/api/collections/threats';
const VERDICTS = '/taxii2/api/collections/verdicts';

const app = sharedApp();
const projecting = sharedProjecting(app);
let acme: string;
let beta: string;

const get = (path: string, key = acme, headers: Record<string, string> = {}): Promise<ApiResponse> =>
  app.call(path, { key, headers });
const threat = (threatId: string, data: object = {}): Sent =>
  sentThreat(threatId, {
    organization: 'acme',
    asset: { type: 'URL', content: `${threatId}.example` },
    status: 'BLOCKED',
    createdAt: T,
    updatedAt: T,
    ...data,
  });
const store = async (...events: readonly Sent[]): Promise<void> => {
  await app.log.appendAll(events.map(stored));
  await projecting.reached();
};
interface Indicator {
  readonly id: string;
  readonly created: string;
  readonly modified: string;
  readonly revoked?: true;
  readonly pattern: string;
  readonly external_references: readonly { readonly external_id: string }[];
}
const recordOf = ({ external_references: [reference] }: Indicator): string => reference!.external_id;
/** Reads a whole collection in pages of two, as a client that follows `next`. */
const all = async (collection = THREATS, key = acme): Promise<Indicator[]> => {
  const objects: Indicator[] = [];
  for (let next = ''; ;) {
    const { status, body } = await get(`${collection}/objects/?limit=2${next}`, key);
    expect(status).toBe(200);
    objects.push(...body.objects);
    if (body.next === undefined) return objects;
    expect(body.more).toBe(true);
    next = `&next=${encodeURIComponent(body.next)}`;
  }
};
const find = async (id: string, collection = THREATS): Promise<Indicator | undefined> =>
  (await all(collection)).find((object) => recordOf(object) === id);

beforeAll(async () => {
  acme = await app.issueKey({ organization: 'acme' });
  beta = await app.issueKey({ organization: 'beta' });
});

const schemas = join(import.meta.dirname, 'stix-2.1');
const ajv = new Ajv2020({ strict: false, unicodeRegExp: false, validateFormats: false });
for (const file of readdirSync(schemas, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json')))
  ajv.addSchema(JSON.parse(readFileSync(join(schemas, file), 'utf8')) as object);
const indicator = JSON.parse(readFileSync(join(schemas, 'sdos/indicator.json'), 'utf8')) as { $id: string };
const validate = ajv.getSchema(indicator.$id)!;

describe('The collections of TAXII', () => {
  it('are found from the discovery, with and without the slash at the end', async () => {
    for (const slash of ['', '/']) {
      const { body, headers } = await get(`/taxii2${slash}`);
      expect(headers.get('content-type')).toBe(TYPE);
      expect(body.api_roots).toContain(body.default);
      const root = await get(body.default.replace(/\/$/, slash));
      expect(root.body).toMatchObject({ versions: [TYPE], max_content_length: expect.any(Number) });
      const { collections } = (await get(`/taxii2/api/collections${slash}`)).body;
      expect(collections.map(({ alias }: { alias: string }) => alias)).toEqual(['threats', 'verdicts']);
      for (const each of collections) {
        expect(each).toMatchObject({ can_read: true, can_write: false });
        for (const name of [each.id, each.alias])
          expect((await get(`/taxii2/api/collections/${name}${slash}`)).body).toEqual(each);
      }
    }
  });

  it('have an object for each record that counts or once counted, with the states of the lists', async () => {
    await store(
      threat('blocked'),
      threat('watched', { status: 'WATCHLISTED' }),
      threat('once'),
      threat('once', { status: 'REJECTED', updatedAt: LATER }),
      threat('gone'),
      sent('ThreatDeleted', { organization: 'acme', threatId: 'gone', deletedAt: LATER }),
      threat('quoted', { asset: { type: 'OTHER', content: `it's a \\ "test"` } }),
      threat('ip', { asset: { type: 'URL', content: 'http://192.0.2.7/x' } }),
      threat('of-beta', { organization: 'beta' }),
      sentStatus('c-1', {
        asset: { type: 'URL', content: 'https://Bad.EXAMPLE/path' },
        status: 'BLOCKED',
        brandReviews: [{ organization: 'acme', brand: 'wallet' }],
        createdAt: T,
      }),
      sentStatus('c-2', { brandReviews: [{ organization: 'acme', brand: 'wallet' }], status: 'ALLOWED', createdAt: T }),
    );
    await eventually('all objects', async () => (await all()).length === 5);
    const objects = new Map((await all()).map((object) => [recordOf(object), object]));
    expect([...objects.keys()].sort()).toEqual(['blocked', 'gone', 'ip', 'once', 'quoted']);
    expect(objects.get('blocked')).toMatchObject({
      type: 'indicator',
      pattern: "[domain-name:value = 'blocked.example']",
      labels: ['URL', 'BLOCKED'],
      valid_from: T,
    });
    expect(objects.get('blocked')!.revoked).toBeUndefined();
    expect(objects.get('once')!.revoked).toBe(true);
    expect(objects.get('gone')!.revoked).toBe(true);
    expect(objects.get('ip')!.pattern).toBe("[ipv4-addr:value = '192.0.2.7']");
    expect(objects.get('quoted')!.pattern).toBe(`[x-asset:value = 'it\\'s a \\\\ "test"']`);
    const [verdict] = await all(VERDICTS);
    expect(verdict!.pattern).toBe("[domain-name:value = 'bad.example']");
    expect((await all(VERDICTS)).length).toBe(1);
    for (const object of [...objects.values(), verdict!]) {
      expect([validate(object), validate.errors]).toEqual([true, null]);
      expect(object.created <= object.modified).toBe(true);
    }
  });

  it('have `valid_until` for a status that expires, and are not revoked then', async () => {
    const expiresAt = '2026-03-03T00:00:00.000Z';
    const brandReviews = [{ organization: 'acme', brand: 'wallet' }];
    await store(sentStatus('c-until', { brandReviews, createdAt: T, expiresAt }));
    await eventually('the object', async () => (await find('c-until', VERDICTS)) !== undefined);
    const object = (await find('c-until', VERDICTS))!;
    expect(object).toMatchObject({ valid_from: T, valid_until: expiresAt });
    expect(object.revoked).toBeUndefined();
    expect([validate(object), validate.errors]).toEqual([true, null]);
    expect(await find('c-1', VERDICTS)).not.toHaveProperty('valid_until');
  });

  it('of two organizations share nothing', async () => {
    const mine = await find('blocked');
    const others = await all(THREATS, beta);
    expect(others.map(recordOf)).toEqual(['of-beta']);
    expect((await get(`${THREATS}/objects/${mine!.id}`, beta)).status).toBe(404);
    expect((await get(`${THREATS}/objects/?match[id]=${mine!.id}`, beta)).body.objects).toEqual([]);
    await store(threat('last'));
    await eventually('the last object', async () => (await find('last')) !== undefined);
    const { body } = await get(`${THREATS}/objects/?limit=1`);
    expect((await get(`${THREATS}/objects/?next=${body.next}`, beta)).status).toBe(400);
    expect((await get(`${VERDICTS}/objects/?next=${body.next}`)).status).toBe(400);
    expect((await get(`${THREATS}/objects/?next=AAAAAAAA${body.next.slice(8)}`)).status).toBe(410);
  });

  it('never split a millisecond between two pages', async () => {
    await store(...Array.from({ length: 30 }, (_, n) => threat(`together-${n}`)));
    await eventually('the objects', async () => (await find('together-29')) !== undefined);
    const { rows } = await app.pool.query<{ added_at: number; n: number }>(
      `select added_at, count(*)::int as n from read.register
       where has_counted and organization = 'acme' and kind = 2 group by 1 order by 1`,
    );
    const found: string[] = [];
    for (let after = ''; ;) {
      const { body, headers } = await get(`${THREATS}/objects/?limit=1${after}`);
      if (body.objects.length === 0) break;
      const dates: Set<string> = new Set(body.objects.map(({ modified }: Indicator) => modified));
      expect(dates.size).toBe(1);
      expect(body.objects.length).toBe(rows.find(({ added_at }) => added_at === Date.parse([...dates][0]!))!.n);
      found.push(...body.objects.map(recordOf));
      expect(headers.get('x-taxii-date-added-first')).toBe([...dates][0]);
      after = `&added_after=${headers.get('x-taxii-date-added-last')}`;
    }
    expect(found).toEqual((await all()).map(recordOf));
  });

  it('have the objects, versions and the manifest of one id', async () => {
    const object = (await find('blocked'))!;
    expect((await get(`${THREATS}/objects/${object.id}/`)).body.objects).toEqual([object]);
    expect((await get(`${THREATS}/objects/${object.id}/versions/`)).body.versions).toEqual([object.modified]);
    const manifest = (await get(`${THREATS}/manifest/?match[id]=${object.id}`)).body.objects;
    expect(manifest).toMatchObject([{ id: object.id, date_added: object.modified, version: object.modified }]);
    expect((await get(`${THREATS}/objects/indicator--00000000-0000-4000-8000-000000000000`)).status).toBe(404);
    const count = async (match: string): Promise<number> =>
      (await get(`${THREATS}/objects/?limit=1000&${match}`)).body.objects.length;
    const whole = (await all()).length;
    for (const match of ['match[type]=indicator', 'match[spec_version]=2.0,2.1', 'match[version]=all', 'match[x]=1'])
      expect([match, await count(match)]).toEqual([match, whole]);
    for (const match of [
      'match[type]=malware',
      'match[spec_version]=2.0',
      'match[type]=x-unknown',
      'match[id]=indicator--00000000-0000-4000-8000-000000000000,malware--00000000-0000-4000-8000-000000000000',
      'added_after=2999-01-01T00:00:00Z',
    ])
      expect([match, await count(match)]).toEqual([match, 0]);
    expect(await count(`match[version]=${object.modified}`)).toBeGreaterThan(0);
    // The versions of an object are empty, not missing, if the parameters exclude it.
    for (const match of ['match[spec_version]=2.0', 'match[version]=2020-01-01T00:00:00Z', 'match[type]=malware']) {
      const { status, body } = await get(`${THREATS}/objects/${object.id}?${match}`);
      expect([match, status, body.objects]).toEqual([match, 200, []]);
    }
    // No response about one object has a `next`, so a `next` of the collection is refused there.
    const { next } = (await get(`${THREATS}/objects/?limit=1`)).body;
    expect((await get(`${THREATS}/objects/?next=${next}`)).status).toBe(200);
    for (const path of [object.id, `${object.id}/versions`])
      expect((await get(`${THREATS}/objects/${path}/?next=${next}`)).status).toBe(400);
  });

  it('keep `next` valid while the objects change, with the whole query', async () => {
    const ids = (await all()).slice(0, 3).map(({ id }) => id);
    const { body } = await get(`${THREATS}/objects/?limit=1&match[id]=${ids.join()}`);
    expect(body.objects.map(({ id }: Indicator) => id)).toContain(ids[0]);
    await store(threat('once', { updatedAt: '2026-03-03T00:00:00.000Z' }));
    await eventually(
      'the new state',
      async () => (await find('once'))?.revoked === undefined && (await find('once')) !== undefined,
    );
    const rest: string[] = [];
    for (let next = body.next; next !== undefined;) {
      const page = await get(`${THREATS}/objects/?next=${next}&added_after=nonsense&match[id]=other`);
      rest.push(...page.body.objects.map(({ id }: Indicator) => id));
      next = page.body.next;
    }
    for (const id of rest) expect(ids).toContain(id);
  });

  it('are revoked by a status, a deletion, a redaction and retention, and keep their id and `created`', async () => {
    const old = { createdAt: '2015-01-01T00:00:00.000Z', updatedAt: '2015-01-01T00:00:00.000Z' };
    await store(
      ...['rejected', 'deleted', 'redacted', 'again'].map((id) => threat(`ends-${id}`)),
      threat('ends-retained', old),
    );
    const ends = async (): Promise<Map<string, Indicator>> =>
      new Map(
        (await all()).map((object) => [recordOf(object), object] as const).filter(([id]) => id.startsWith('ends-')),
      );
    await eventually('the objects', async () => (await ends()).size === 5);
    const before = await ends();
    for (const { revoked, created, modified } of before.values())
      expect([revoked, created]).toEqual([undefined, modified]);

    await store(
      threat('ends-rejected', { status: 'REJECTED', updatedAt: LATER }),
      sent('ThreatDeleted', { organization: 'acme', threatId: 'ends-deleted', deletedAt: LATER }),
      threat('ends-again', { status: 'REJECTED', updatedAt: LATER }),
    );
    const operator = async (...words: string[]): Promise<void> => {
      const { databaseUrl: DATABASE_URL, eventStoreUrl: EVENTSTORE_URL } = app.config;
      const { code, err } = await operatorCall({ DATABASE_URL, ...(EVENTSTORE_URL && { EVENTSTORE_URL }) }, ...words);
      expect([code, err]).toEqual([0, expect.any(String)]);
    };
    await operator('assets', 'redact', 'ends-redacted.example', '--json');
    await operator('retention', 'apply', '--older-than', '3000d', '--json');
    await projecting.reached();
    // An object is missing while its millisecond is held back.
    await eventually('all are revoked', async () => {
      const objects = [...(await ends()).values()];
      return objects.length === before.size && objects.every(({ revoked }) => revoked === true);
    });
    const after = await ends();
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
    for (const [id, object] of after) {
      const { id: sameId, created, modified } = before.get(id)!;
      expect(object).toMatchObject({ id: sameId, created });
      expect(object.modified > modified).toBe(true);
      expect([validate(object), validate.errors]).toEqual([true, null]);
    }
    for (const id of ['ends-redacted', 'ends-retained'])
      expect(after.get(id)!.pattern).toBe("[x-asset:value = 'redacted']");
    expect(JSON.stringify([...after.values()])).not.toContain('ends-redacted.example');

    await store(threat('ends-again', { updatedAt: '2026-03-03T00:00:00.000Z' }));
    await eventually('it counts again', async () => {
      const object = await find('ends-again');
      return object !== undefined && object.revoked === undefined;
    });
    expect(await find('ends-again')).toMatchObject({
      id: before.get('ends-again')!.id,
      created: before.get('ends-again')!.created,
    });
  });

  it('split a millisecond with more than 5,000 objects, which only `next` continues', async () => {
    const count = 5_050;
    const big = await app.issueKey({ organization: 'big' });
    await store(...Array.from({ length: count }, (_, n) => threat(`big-${n}`, { organization: 'big' })));
    await store(threat('big-last', { organization: 'big' }));
    await app.pool.query(
      `update read.register set added_at = (select min(added_at) from read.register where organization = 'big')
       where organization = 'big' and id <> 'big-last'`,
    );
    const page = (query: string): Promise<ApiResponse> => get(`${THREATS}/objects/?limit=1000${query}`, big);
    const bigLast = async (): Promise<string> => {
      const { rows } = await app.pool.query<{ id: string }>(
        `select 'indicator--' || record as id from read.register where organization = 'big' and id = 'big-last'`,
      );
      return rows[0]!.id;
    };
    const last = async (): Promise<ApiResponse> => get(`${THREATS}/objects/?match[id]=${await bigLast()}`, big);
    await eventually('the last object', async () => (await last()).body.objects.length === 1);
    const first = await page('');
    const size = first.body.objects.length;
    // The size of the page ends it, or the number of objects.
    expect([first.body.more, size > 1_000, size <= 5_000]).toEqual([true, true, true]);
    expect(JSON.stringify(first.body).length).toBeLessThanOrEqual(4 * 1024 * 1024);
    const received = first.body.objects.map(recordOf);
    for (let { next } = first.body; next !== undefined;) {
      const { body } = await page(`&next=${next}`);
      received.push(...body.objects.map(recordOf));
      ({ next } = body);
    }
    expect([received.length, new Set(received).size]).toEqual([count + 1, count + 1]);
    await app.pool.query(
      `update read.register set created_at = null, content = null where organization = 'big' and id <> 'big-last'`,
    );
    const small = await page('');
    expect([small.body.objects.length, small.body.more]).toEqual([5_000, true]);
    const rest = await page(`&next=${small.body.next}`);
    expect(rest.body.objects.length).toBeGreaterThanOrEqual(count - 5_000);
    // By date, the rest of the millisecond cannot be named.
    const byDate = await page(`&added_after=${first.headers.get('x-taxii-date-added-last')}`);
    expect(byDate.body.objects.map(recordOf)).toEqual(['big-last']);
  });

  it('include what a Consistency-Token names', async () => {
    const ingest = await app.issueKey({ organization: 'acme', scopes: ['ingest'] });
    const event = threat('token');
    const { cloudEvent } = await import('../../support/upstream.js');
    const posted = await app.call('/v2/events', {
      key: ingest,
      headers: { 'content-type': 'application/cloudevents+json' },
      json: cloudEvent(event),
    });
    const token = posted.headers.get('consistency-token')!;
    const { body } = await get(`${THREATS}/objects/?limit=1000`, acme, { 'consistency-token': token });
    expect(body.objects.map(recordOf)).toContain('token');
  });
});

describe('A request of TAXII', () => {
  const objects = `${THREATS}/objects/`;

  it('is authenticated by X-API-KEY, Bearer, Basic, or Token as by TokenAuth of cti-taxii-client 54dabadf', async () => {
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    const status = async (authorization: string, path = objects): Promise<number> =>
      (await app.call(path, { headers: { authorization } })).status;
    for (const header of [
      `Bearer ${acme}`,
      `bearer ${acme}`,
      `Token ${acme}`,
      basic(`${acme}:`),
      basic(`:${acme}`),
      basic(`user:${acme}`),
      basic(`${acme}:x`),
    ])
      expect([header, await status(header)]).toEqual([header, 200]);
    for (const header of ['Bearer x', 'Token x', basic('a:b'), basic(''), 'Basic', `Digest ${acme}`])
      expect([header, await status(header)]).toEqual([header, 401]);
    expect(await status(`Bearer ${acme}`, '/v2/organization/threats')).toBe(401);
    expect((await get(objects, 'tp_wrong', { authorization: `Bearer ${acme}` })).status).toBe(401);
    const missing = await app.call(objects);
    expect(missing.headers.get('www-authenticate')).toMatch(/^Basic /);
  });

  it.each([
    [undefined, 200],
    ['*/*', 200],
    ['application/*', 200],
    ['application/*;q=0, */*', 406],
    ['application/taxii+json;version=2.1;q=0, application/*', 406],
    ['application/taxii+json;version=2.1', 200],
    ['application/TAXII+json; version=2.1', 200],
    ['application/taxii+json', 200],
    ['text/html, application/taxii+json;version=2.1;q=0.5', 200],
    ['application/taxii+json;version=2.1;q=0, */*', 406],
    ['application/taxii+json;version=2.1;q=0, application/taxii+json', 406],
    ['application/taxii+json;q=0, application/taxii+json; version="2.1"', 200],
    ['application/taxii+json;version=2.0', 406],
    ['application/vnd.oasis.taxii+json', 406],
    ['application/json', 406],
  ])('with Accept %p is answered with %p', async (accept, status) => {
    for (const path of [objects, '/taxii2/', THREATS])
      expect((await get(path, acme, accept === undefined ? {} : { accept })).status).toBe(status);
  });

  it.each([
    ['GET', `${THREATS}/objects/?limit=0`, 400, 'limit'],
    ['GET', `${THREATS}/objects/?limit=x`, 400, 'limit'],
    ['GET', `${THREATS}/objects/?limit=1&limit=2`, 400, 'limit'],
    ['GET', `${THREATS}/objects/?added_after=2026-01-01T00:00:00`, 400, 'added_after'],
    ['GET', `${THREATS}/objects/?limit=-1`, 400, 'limit'],
    ['GET', `${THREATS}/objects/?limit=1.5`, 400, 'limit'],
    ['GET', `${THREATS}/objects/?limit=`, 400, 'limit'],
    ['GET', `${THREATS}/objects/?added_after=yesterday`, 400, 'added_after'],
    ['GET', `${THREATS}/objects/?added_after=2026-02-30T00:00:00Z`, 400, 'added_after'],
    ['GET', `${THREATS}/objects/?added_after=`, 400, 'added_after'],
    ['GET', `${THREATS}/manifest/?added_after=2026-01-01`, 400, 'added_after'],
    ['GET', `${THREATS}/objects/?next=x`, 400, 'next'],
    ['GET', `${THREATS}/objects/?next=`, 400, 'next'],
    ['GET', `${THREATS}/manifest/?next=x`, 400, 'next'],
    ['GET', `${THREATS}/objects/?match[id]=`, 400, 'match[id]'],
    ['GET', `${THREATS}/objects/?match[id]=nonsense`, 400, 'match[id]'],
    ['GET', `${THREATS}/manifest/?match[id]=indicator--00000000`, 400, 'match[id]'],
    ['GET', `${THREATS}/objects/?match[type]=aaa,,bbb`, 400, 'match[type]'],
    ['GET', `${THREATS}/objects/?match[type]=No%20Type!`, 400, 'match[type]'],
    ['GET', `${THREATS}/objects/?match[spec_version]=two`, 400, 'match[spec_version]'],
    ['GET', `${THREATS}/objects/indicator--x/versions/?match[version]=x`, 400, 'match[version]'],
    ['GET', `${THREATS}/objects/?match[version]=x`, 400, 'match[version]'],
    ['GET', '/taxii2/api/collections/other/', 404, 'Collection'],
    ['GET', '/taxii2/api/other', 404, 'Route'],
    ['PUT', `${THREATS}/objects/`, 405, 'allowed'],
    ['POST', `${THREATS}/objects/`, 403, 'read-only'],
    ['DELETE', `${THREATS}/objects/indicator--x/`, 403, 'read-only'],
  ])('%s %s is refused with %p and the error message of TAXII', async (method, path, status, text) => {
    const response = await app.call(path, { key: acme, method });
    expect([response.status, response.headers.get('content-type')]).toEqual([status, TYPE]);
    expect(response.body).toMatchObject({ http_status: String(status), title: expect.any(String) });
    expect(response.body.description).toContain(text);
  });

  it('is answered compressed, and names the headers on which the answer depends', async () => {
    const { headers, body } = await get(`${objects}?limit=1000`, acme, { 'accept-encoding': 'gzip' });
    expect([headers.get('content-encoding'), headers.get('content-type')]).toEqual(['gzip', TYPE]);
    expect(body.objects.length).toBeGreaterThan(10);
    for (const [path, key] of [
      [objects, acme],
      [objects, 'tp_wrong'],
      ['/taxii2/', acme],
    ] as const)
      expect((await get(path, key)).headers.get('vary')).toMatch(
        /^X-API-KEY, Authorization, Accept(, Accept-Encoding)?$/,
      );
  });

  it('is revalidated, and HEAD is answered as GET', async () => {
    const first = await get(`${objects}?limit=1`);
    const tag = first.headers.get('etag')!;
    const again = await get(`${objects}?limit=1`, acme, { 'if-none-match': tag });
    expect(again.status).toBe(304);
    const head = await fetch(`${app.url}${objects}?limit=1`, { method: 'HEAD', headers: { 'x-api-key': acme } });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, TYPE]);
    for (const name of ['x-as-of', 'consistency-token', 'x-taxii-date-added-last'])
      expect(head.headers.get(name)).toMatch(/./);
  });

  it('is sent again, not revalidated, once its `next` has become invalid', async () => {
    const path = `${objects}?limit=1`;
    const first = await get(path);
    // A failover lost the event of the last object of the page, with which its millisecond ends, and upstream has sent it again: it has another id now.
    const id = randomUUID();
    const text = `
      with row as (
        select position from read.register
        where kind = ${LISTED_KIND.threat} and has_counted and organization = 'acme'
        order by added_at, position desc limit 1
      ), moved as (update log.events e set event_id = $1 from row where e.position = row.position)
      update read.register r set event_id = $1, moved_by = null from row
      where r.position = row.position`;
    expect((await app.pool.query(text, [id])).rowCount).toBe(1);
    expect((await get(`${objects}?next=${first.body.next}`)).status).toBe(410);
    const again = await get(path, acme, { 'if-none-match': first.headers.get('etag')! });
    expect([again.status, again.body.objects]).toEqual([200, first.body.objects]);
    expect((await get(`${objects}?next=${again.body.next}`)).status).toBe(200);
  });

  it('of any form gets no 5xx, and its errors are those of TAXII', async () => {
    const random = new Random(72);
    const id = `indicator--00000000-0000-4000-8000-000000000000`;
    const page = (await get(`${objects}?limit=1`)).body;
    const texts = [
      '',
      '0',
      '1',
      '1000',
      '99999999999999999999',
      '-1',
      'NaN',
      'é',
      '\0',
      "'",
      '%',
      '%zz',
      'last',
      'all',
    ];
    const values = [...texts, T, '2026-03-01T00:00:00+01:00', '9999-12-31T23:59:59.999999999Z', '0000-01-01T00:00:00Z'];
    const known = [
      ...values,
      page.next,
      page.next.slice(0, -1),
      page.objects[0].id,
      id,
      'indicator',
      'a'.repeat(5_000),
    ];
    const names = ['limit', 'next', 'added_after', 'match[id]', 'match[type]', 'match[version]', 'match[spec_version]'];
    const moreNames = [...names, 'match', 'match[]', 'match[__proto__]', '__proto__', 'x'];
    const ends = ['', '/', '/versions', `/${id}`, `/${id}/versions/`, '/%2e%2e', '/\u{1F600}', '//'];
    const statuses = new Set<number>();
    for (let n = 0; n < 600; n += 1) {
      const parameters = Array.from({ length: random.int(4) }, () => {
        const value = random.pick(known);
        return `${random.pick(moreNames)}=${random.chance(0.8) ? encodeURIComponent(value) : value.replace('\0', '%00')}`;
      });
      const end = random.chance(0.6) ? '/' : random.pick(ends);
      const resource = random.pick(['objects', 'objects', 'manifest', '', 'x']);
      const path = `${random.pick([THREATS, VERDICTS, '/taxii2/api', '/taxii2'])}/${resource}${end}?${parameters.join('&')}`;
      const method = random.chance(0.9) ? 'GET' : random.pick(['POST', 'PUT', 'DELETE', 'OPTIONS']);
      const response = await app.call(path, { key: acme, method });
      statuses.add(response.status);
      expect([method, path, response.status < 500]).toEqual([method, path, true]);
      if (response.status < 400 || method !== 'GET') continue;
      expect([path, response.body.http_status]).toEqual([path, String(response.status)]);
    }
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404]));
  });
});
