import { createHash, hash } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Coded, decode } from '../../docs/examples/local-list.js';
import { redactAsset } from '../../src/cli/redacting/redact-asset.js';
import { eventually } from '../support/eventually.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { contentReporter } from '../support/upstream.js';

const app = sharedApp({ env: { LISTS: 'on' } });
sharedProjecting(app);
const open = sharedApp({ env: { LISTS: 'public' } });
sharedProjecting(open);
const off = sharedApp();

let key: string;

const reportAll = contentReporter(() => app.log);
const report = (status: 'BLOCKED' | 'ALLOWED', ...contents: string[]): Promise<void> => reportAll(contents, { status });

const read = (path: string) => app.call(`${path}${path.includes('?') ? '&' : '?'}key=${key}`);

interface HashList {
  readonly name: string;
  readonly version: string;
  readonly partialUpdate?: boolean;
  readonly additionsFourBytes?: Coded;
  readonly compressedRemovals?: Coded;
  readonly sha256Checksum: string;
}

const numbersOf = (coded: Coded | undefined): number[] => (coded ? Array.from(decode(coded), Number) : []);

/** A client of Safe Browsing v5 with one list. */
class SafeBrowsingClient {
  private prefixes: number[] = [];
  private version = '';

  /** @returns whether the response was an update */
  async update(): Promise<boolean> {
    const since = this.version === '' ? '' : `&version=b3RoZXI%3D&version=${encodeURIComponent(this.version)}`;
    const { status, body } = await read(`/v5/hashLists:batchGet?names=mw-4b&names=all-4b${since}&alt=json`);
    expect(status).toBe(200);
    const [unknown, list] = body.hashLists as [HashList, HashList];
    expect([unknown.name, unknown.additionsFourBytes, list.name]).toEqual(['mw-4b', undefined, 'all-4b']);
    const removed = new Set(numbersOf(list.compressedRemovals));
    const kept = list.partialUpdate === true ? this.prefixes.filter((_, n) => !removed.has(n)) : [];
    this.prefixes = [...kept, ...numbersOf(list.additionsFourBytes)].sort((one, other) => one - other);
    const bytes = Buffer.concat(this.prefixes.map((prefix) => Buffer.from(Uint32Array.of(prefix).buffer).swap32()));
    expect(createHash('sha256').update(bytes).digest('base64')).toBe(list.sha256Checksum);
    this.version = list.version;
    return list.partialUpdate === true;
  }

  async isBlocked(expression: string): Promise<boolean> {
    const full = hash('sha256', expression, 'buffer');
    if (!this.prefixes.includes(full.readUInt32BE())) return false;
    const prefix = encodeURIComponent(full.subarray(0, 4).toString('base64'));
    const { body } = await read(`/v5/hashes:search?hashPrefixes=${prefix}&hashPrefixes=AAAAAA%3D%3D&alt=json`);
    expect(body.cacheDuration).toBe('300s');
    return body.fullHashes.some((found: { readonly fullHash: string }) => found.fullHash === full.toString('base64'));
  }
}

/** The hosts as MetaMask's controller keeps them. */
class MetaMaskClient {
  private blocked = new Set<string>();
  private allowed = new Set<string>();
  private lastUpdated = 0;

  async start(): Promise<void> {
    const { data } = (await read('/v2/lists/all-8b/metamask/v1/stalelist')).body;
    expect(data).toMatchObject({ version: 1, tolerance: 0, fuzzylist: [] });
    [this.blocked, this.allowed] = [new Set(data.blocklist), new Set(data.allowlist)];
    this.lastUpdated = data.lastUpdated;
    await this.update();
  }

  async update(): Promise<void> {
    const { body } = await read(`/v2/lists/all-8b/metamask/v2/diffsSince/${this.lastUpdated}`);
    let newest = this.lastUpdated;
    for (const { url, timestamp, targetList, isRemoval } of body.data) {
      if (!(timestamp > this.lastUpdated)) continue;
      const list = targetList === 'eth_phishing_detect_config.blocklist' ? this.blocked : this.allowed;
      if (isRemoval === true) list.delete(url);
      else list.add(url);
      newest = Math.max(newest, timestamp);
    }
    this.lastUpdated = newest;
  }

  isBlocked(host: string): boolean {
    const isIn = (list: ReadonlySet<string>): boolean => [...list].some((one) => `.${host}`.endsWith(`.${one}`));
    return !isIn(this.allowed) && isIn(this.blocked);
  }
}

const until = (what: string, isSo: () => boolean | Promise<boolean>, update: () => Promise<unknown>): Promise<void> =>
  eventually(what, async () => {
    await update();
    return isSo();
  });

const names = async (content: string): Promise<number> =>
  Number((await app.pool.query('select from service.list_names where expression like $1', [`%${content}%`])).rowCount);

beforeAll(async () => {
  key = await app.issueKey({ scopes: ['lists'] });
  await report('BLOCKED', ...Array.from({ length: 20 }, (_, n) => `first${n}.example`));
  await eventually('the names are stored', async () => {
    const { status } = await read('/v2/lists/all-8b/metamask/v1/stalelist');
    return status === 200 && (await names('first19.example/')) > 0;
  });
});

describe('A client of Safe Browsing', () => {
  it('follows what is blocked and freed, with updates', async () => {
    const client = new SafeBrowsingClient();
    expect(await client.update()).toBe(false);
    await report('BLOCKED', 'evil.example');
    await until(
      'it is blocked',
      () => client.isBlocked('evil.example/'),
      () => client.update(),
    );
    expect(await client.update()).toBe(true);
    await report('ALLOWED', 'evil.example');
    await until(
      'it is free',
      async () => !(await client.isBlocked('evil.example/')),
      () => client.update(),
    );
  });

  it('does not block a host with an allowed host below, because it would block that too', async () => {
    const client = new SafeBrowsingClient();
    await report('BLOCKED', 'mixed.example');
    await until(
      'it is blocked',
      () => client.isBlocked('mixed.example/'),
      () => client.update(),
    );
    await report('ALLOWED', 'good.mixed.example');
    await until(
      'it is free',
      async () => !(await client.isBlocked('mixed.example/')),
      () => client.update(),
    );
  });

  it('gets the binary format unless it asks for JSON', async () => {
    const get = (query: string, accept = '*/*') =>
      fetch(`${app.url}/v5/hashList/own-4b?key=${key}${query}`, { headers: { accept } });
    const bytes = await get('');
    expect(bytes.headers.get('content-type')).toBe('application/x-protobuf');
    expect(Buffer.from(await bytes.arrayBuffer()).subarray(0, 8)).toEqual(Buffer.from('\n\u0006own-4b'));
    const json = [await get('&alt=json'), await get('', 'application/json')];
    for (const response of json) {
      expect(response.headers.get('content-type')).toContain('application/json');
      expect(await response.json()).toMatchObject({ name: 'own-4b', minimumWaitDuration: '300s' });
    }
  });

  it.each([
    ['/v5/hashLists:batchGet', 'names must name at least one list'],
    ['/v5/hashLists:batchGet?names=a%20b', 'names must be names of lists'],
    ['/v5/hashLists:batchGet?names=all-4b&names=all-4b', 'Each name can be sent once'],
    ['/v5/hashes:search', 'Send 1 to 256 hashPrefixes'],
    ['/v5/hashes:search?hashPrefixes=AAAA', 'hashPrefixes must have 4 bytes each'],
  ])('is told what is wrong with its request: %s', async (path, message) => {
    const { status, body } = await read(path);
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
  });

  it('can send 256 prefixes, or names of 32 lists', async () => {
    const statusOf = async (path: string, value: (n: number) => string, count: number): Promise<number> =>
      (await read(path + Array.from({ length: count }, (_, n) => value(n)).join('&'))).status;
    const prefix = (): string => 'hashPrefixes=AAAAAA';
    const name = (n: number): string => `names=a${n}`;
    const statuses = [256, 257].map((count) => statusOf('/v5/hashes:search?', prefix, count));
    const ofLists = [32, 33].map((count) => statusOf('/v5/hashLists:batchGet?', name, count));
    expect(await Promise.all([...statuses, ...ofLists])).toEqual([200, 400, 200, 400]);
  });

  it('gets at most 100 full hashes of a prefix', async () => {
    const add = (count: number) =>
      app.pool.query(
        `insert into service.list_names (hash, is_ask, expression, asset_hash)
        select decode('ab12ab12' || lpad(to_hex(n), 8, '0'), 'hex'), false, 'alike' || n || '.example/', ''
        from generate_series(1, $1) n on conflict do nothing`,
        [count],
      );
    const found: number[] = [];
    for (const count of [99, 100, 101]) {
      await add(count);
      const prefix = encodeURIComponent(Buffer.from('ab12ab12', 'hex').toString('base64'));
      found.push((await read(`/v5/hashes:search?hashPrefixes=${prefix}&alt=json`)).body.fullHashes.length);
    }
    await app.pool.query(`delete from service.list_names where expression like 'alike%'`);
    expect(found).toEqual([99, 100, 100]);
  });
});

describe("MetaMask's controller", () => {
  it('follows what is blocked and freed, by differences', async () => {
    const client = new MetaMaskClient();
    await client.start();
    expect(client.isBlocked('first1.example')).toBe(true);
    await report('BLOCKED', 'drainer.example');
    await until(
      'it is blocked',
      () => client.isBlocked('a.drainer.example'),
      () => client.update(),
    );
    await report('ALLOWED', 'good.drainer.example');
    await until(
      'it is allowed',
      () => !client.isBlocked('good.drainer.example'),
      () => client.update(),
    );
    expect(client.isBlocked('a.drainer.example')).toBe(true);
    await report('ALLOWED', 'drainer.example');
    await until(
      'it is free',
      () => !client.isBlocked('a.drainer.example'),
      () => client.update(),
    );
  });

  it('gets the differences of 1,000 versions at once, the oldest first, until it has all', async () => {
    const first = Math.floor(Date.now() / 1_000) - 86_400;
    const hashes = hash('sha256', 'first0.example/', 'buffer').subarray(0, 8);
    await app.pool.query(
      `insert into service.list_versions (name, number, cut_at, sha256, removed, added)
      select 'all-8b', -n, ($1::bigint + n) * 1000, '', '', $2 from generate_series(1, 1500) n`,
      [first, hashes],
    );
    const seconds: number[][] = [];
    for (let since = first; seconds.length < 2; since = seconds.at(-1)!.at(-1)!) {
      const { data } = (await read(`/v2/lists/all-8b/metamask/v2/diffsSince/${since}`)).body;
      seconds.push(data.map(({ timestamp }: { readonly timestamp: number }) => timestamp));
    }
    await app.pool.query('delete from service.list_versions where number < 0');
    expect(seconds[0]).toEqual(Array.from({ length: 1_000 }, (_, n) => first + n + 1));
    expect(seconds[1]!.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, n) => first + n + 1_001));
    // The real versions of this spec.
    expect(seconds[1]!.length).toBeGreaterThan(500);
  });

  it('gets a compressed list, and hosts of command servers, of which there are none', async () => {
    const response = await fetch(`${app.url}/v2/lists/own-8b/metamask/v1/stalelist?key=${key}`);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(await response.text()).toContain('"first0.example"');
    const { body } = await read('/v2/lists/all-8b/metamask/v1/request-blocklist?timestamp=0');
    expect(body).toMatchObject({ recentlyAdded: [], recentlyRemoved: [] });
  });

  it.each([
    ['/v2/lists/ask-8b/metamask/v1/stalelist', 404],
    ['/v2/lists/none/metamask/v2/diffsSince/1', 404],
    ['/v2/lists/all-8b/metamask/v2/diffsSince/yesterday', 400],
  ])('is told what is wrong with its request: %s', async (path, status) => {
    expect((await read(path)).status).toBe(status);
  });
});

describe('The routes of other clients', () => {
  it('exist only with local lists, and need a key unless they are public', async () => {
    for (const path of ['/v5/hashList/all-4b', '/v2/lists/all-8b/metamask/v1/request-blocklist']) {
      expect((await off.call(path, { key })).status).toBe(404);
      expect((await app.call(path)).status).toBe(401);
      await eventually('it is public', async () => (await open.call(path)).status === 200);
    }
  });

  it('name no content that was redacted', async () => {
    await report('BLOCKED', 'secret.example');
    await eventually('it is named', async () => (await names('secret.example')) > 0);
    await redactAsset(app, 'secret.example', 'operator');
    expect(await names('secret.example')).toBe(0);
  });
});
