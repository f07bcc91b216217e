import { randomBytes } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issueApiKey, type ApiKey, listApiKeys } from '../../../src/api-keys/api-keys.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { MS_PER_DAY } from '../../../src/events/instant.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { operatorCall } from '../../support/operator-call.js';
import { signedHeaders } from '../../../src/webhooks/secrets.js';
import { listAllWebhooks } from '../../../src/webhooks/list-webhooks.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

const TIMEOUT_MS = 180_000;
/** A sixtieth of the sites, and every kind of asset; `row-events.spec.ts` reads all of them. */
const isKept = (row: string, index: number): boolean =>
  index % 60 === 0 || /twitter\.com|x\.com\/AcalaNetworks|checkmy-wallet\.com/.test(row);

let database: TestDatabase;
let folder: string;
let installed: string;
const demos: Program[] = [];

/** Installs the built programs with a part of the shipped data, which is enough: all rows are processed alike. */
const installPart = (): void => {
  for (const part of ['src', 'projections']) cpSync(join('dist', part), join(installed, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(installed, 'node_modules'));
  writeFileSync(join(installed, 'package.json'), '{ "type": "module", "version": "0.0.0" }');
  const file = join(installed, 'src/cli/demo/data/phishing-sites.csv');
  const [names, ...rows] = readFileSync(file, 'utf8').trimEnd().split('\n');
  writeFileSync(file, [names, ...rows.filter(isKept)].join('\n'));
};

/** Runs the demo until it says that it stays up. */
const runDemo = async (): Promise<Program> => {
  const demo = startProgram('src/cli.js', ['demo'], {
    installed,
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: join(folder, 'data'),
      PORT: '0',
      SOURCES_FILE: join(folder, 'sources.json'),
      WEBHOOK_MASTER_KEY_FILE: join(folder, 'webhook-master-key'),
    },
  });
  demos.push(demo);
  await eventually(
    'the demo says that it stays up',
    () => {
      if (demo.isOver()) throw new Error(`The demo ended: ${demo.err()}`);
      return demo.err().includes('runs until you press Ctrl-C');
    },
    TIMEOUT_MS,
  );
  return demo;
};

const demoKeys = async (): Promise<ApiKey[]> =>
  (await listApiKeys(await createPostgresLog(database.pool))).filter(({ name }) => name === 'demo');

/** Returns the number that the chart shows next to a name. */
const numberInChart = (stdout: string, name: string): number =>
  Number(new RegExp(`^ *${name} +([\\d,]+)`, 'm').exec(stdout)?.[1]?.replaceAll(',', ''));

const read = async (demo: Program, path: string): Promise<any> => {
  const [{ url, init }] = callsIn(demo.out()) as [{ url: string; init: RequestInit }];
  return (await fetch(new URL(path, url), { headers: init.headers! })).json();
};

const webhooksNow = async (): Promise<string[]> =>
  (await listAllWebhooks(database.pool, 'acme')).map(({ url }) => new URL(url).pathname);

/** Parses the curl commands that the demo prints. */
const callsIn = (stdout: string): { url: string; init: RequestInit }[] =>
  stdout
    .replaceAll(' \\\n ', '')
    .split('\n')
    .filter((line) => line.startsWith('curl '))
    .map((line) => {
      const url = /'(http[^']+)'/.exec(line)![1]!;
      const body = / -d '([^']+)'/.exec(line)?.[1];
      const headerLines = [...line.matchAll(/ -H '(@?)([^']+)'/g)].map(([, isFile, text]) =>
        isFile === '@' ? readFileSync(text!, 'utf8').trimEnd() : text!,
      );
      const headers = headerLines.map((header) => header.split(': ') as [string, string]);
      return { url, init: { method: body === undefined ? 'GET' : 'POST', headers, ...(body && { body }) } };
    });

/**
 * Counts from the data file, independently of the demo, the figures that the guide getting-started.md explains how to
 * check.
 */
const recount = (): Record<string, number> => {
  const rows = readFileSync(join(installed, 'src/cli/demo/data/phishing-sites.csv'), 'utf8')
    .trim()
    .split(/\r?\n/)
    .map((text, index) => ({ line: index + 1, text: text.toLowerCase() }))
    .slice(1);
  const listings = rows.filter(({ text }) => /,listed,/.test(text) && !/,\*?\.top$/.test(text));
  const last = new Map(rows.map(({ text }) => [text.split(',')[2], text.split(',')[1]]));
  const addresses = readFileSync(join(installed, 'src/cli/demo/data/phishing-addresses.csv'), 'utf8')
    .trim()
    .split(/\r?\n/)
    .slice(1);
  const multiples = (divisor: number): number => listings.filter(({ line }) => line % divisor === 0).length;
  return {
    'New threats': [...last.values()].filter((change) => change === 'listed').length,
    Watchlisted: new Set(addresses.map((row) => row.split(',')[1])).size,
    Reports: multiples(10),
    'Takedowns filed': multiples(20),
    'Takedowns completed': multiples(40),
    MetaMask: listings.filter(({ text }) => text.includes('metamask')).length,
    Polkadot: listings.filter(({ text }) => text.includes('polkadot')).length,
    Uniswap: listings.filter(({ text }) => text.includes('uniswap')).length,
    WalletConnect: listings.filter(({ text }) => text.includes('walletconnect')).length,
  };
};

beforeAll(async () => {
  if (!existsSync('dist')) throw new Error('dist is missing: npm run build');
  folder = mkdtempSync(join(tmpdir(), 'demo-'));
  installed = join(folder, 'installed');
  installPart();
  const list = { id: 'unreachable', kind: 'list', format: 'plain', url: 'http://127.0.0.1:9/' };
  writeFileSync(join(folder, 'sources.json'), JSON.stringify({ sources: [{ id: 'own', kind: 'own' }, list] }));
  writeFileSync(join(folder, 'webhook-master-key'), `${randomBytes(32).toString('base64')}\n`);
  database = await createDatabase({ migrated: false });
});
afterAll(async () => {
  for (const demo of demos) demo.process.kill('SIGKILL');
  await database.drop();
  rmSync(folder, { recursive: true });
});

describe('The demo', () => {
  let first: Program;
  /** Formats a number with thousands separators, as the demo prints it. */
  let events: string | undefined;

  it(
    'shows the numbers of the data file',
    async () => {
      first = await runDemo();
      events = /([\d,]+) accepted, 0 already stored, 0 rejected/.exec(first.err())?.[1];
      expect(events).toMatch(/^[\d,]+$/);
      for (const [name, figure] of Object.entries(recount())) {
        expect(figure).toBeGreaterThan(0);
        expect([name, numberInChart(first.out(), name)]).toEqual([name, figure]);
      }
      expect(numberInChart(first.out(), 'URL') + numberInChart(first.out(), 'TWITTER')).toBe(
        numberInChart(first.out(), 'New threats'),
      );
    },
    TIMEOUT_MS,
  );

  it('prints working curl commands', async () => {
    const calls = callsIn(first.out());
    expect(calls.length).toBeGreaterThanOrEqual(7);
    for (const { url, init } of calls) {
      const response = await fetch(url, init);
      expect([url, response.ok]).toEqual([url, true]);
    }
    const [, page] = /The dashboard: (\S+)/.exec(first.out())!;
    expect((await fetch(page!)).status).toBe(200);
  });

  it('has disputes and a group with members, and says in one sentence which lists could not be fetched', async () => {
    expect(
      first.err().match(/The asset check runs without the lists unreachable, which could not be fetched/g),
    ).toHaveLength(1);
    expect(first.err()).not.toMatch(/^\{/m);
    const { items } = await read(first, '/v2/asset/disputes');
    expect(items).toHaveLength(3);
    const hoursOf = ({ createdAt, updatedAt }: Record<string, string>): number =>
      (Date.parse(updatedAt!) - Date.parse(createdAt!)) / 3_600_000;
    expect(
      items.map((item: Record<string, string>) => [item['content'], item['status'], hoursOf(item), item['note']]),
    ).toEqual([
      ['polkadot-dot.info', 'OPEN', 0, undefined],
      ['shop.acme.example', 'ACCEPTED', 27, expect.any(String)],
      ['checkmy-wallet.com', 'REJECTED', 76, expect.any(String)],
    ]);
    for (const { createdAt, updatedAt } of items)
      for (const instant of [createdAt, updatedAt]) expect(Date.parse(instant)).toBeLessThan(Date.now());
    const { disputes } = await read(first, '/v2/organization/metrics/false-positives');
    expect(disputes).toMatchObject({ filed: 3, accepted: 1, rejected: 1, medianTimeToResolution: 27 * 3_600_000 });
  });

  it('has an accepted dispute whose asset is no longer blocked and is no threat', async () => {
    const { verdict, asset } = (await read(first, '/v2/asset/disputes?status=ACCEPTED')).items[0];
    expect(verdict).toMatchObject({ status: 'BLOCKED', source: 'own' });
    const [{ url, init }] = callsIn(first.out()) as [{ url: string; init: RequestInit }];
    const headers = { ...Object.fromEntries(init.headers as [string, string][]), 'content-type': 'application/json' };
    const body = JSON.stringify({ content: asset.content });
    const check = async (): Promise<unknown> =>
      (await fetch(new URL('/v2/asset/check', url), { method: 'POST', headers, body })).json();
    // The demo does not wait until the API knows the status of its last event.
    await eventually('the asset is allowed', async () => ((await check()) as { status: string }).status === 'ALLOWED');
    expect(await check()).toMatchObject({ status: 'ALLOWED', source: 'own' });
    expect((await read(first, `/v2/organization/threats?content=${asset.content}`)).items).toEqual([]);
  });

  it('has a group of the sites of the brands', async () => {
    expect(await read(first, '/v2/organization/asset-groups')).toMatchObject({
      groups: expect.arrayContaining([expect.objectContaining({ name: 'Our own sites', assetCount: 4 })]),
    });
  });

  it('has assets of several types, brands, a watchlist and takedowns that took hours to weeks', async () => {
    const types = new Set<string>();
    for (const type of ['URL', 'ADDRESS', 'TWITTER'])
      for (const { asset } of (await read(first, `/v2/organization/threats?assetType=${type}`)).items)
        types.add(asset.type);
    expect([...types]).toEqual(['URL', 'ADDRESS', 'TWITTER']);
    expect((await read(first, '/v2/organization/threats?status=WATCHLISTED')).items.length).toBeGreaterThan(10);
    expect((await read(first, '/v2/organization/brands')).total).toBe(4);
    const takedowns = (await read(first, '/v2/organization/takedowns?status=COMPLETED&limit=500')).items;
    const hours = takedowns.map(
      ({ createdAt, updatedAt }: Record<string, string>) =>
        (Date.parse(updatedAt!) - Date.parse(createdAt!)) / 3_600_000,
    );
    expect(Math.min(...hours)).toBeLessThan(24);
    expect(Math.max(...hours)).toBeGreaterThan(7 * 24);
  });

  it('has a webhook whose deliveries its own receiver verifies, and says the secret', async () => {
    const [, id, url] = /The webhook (wh_\w+) sends .* to a receiver of the demo, (\S+)/.exec(first.err())!;
    const secret = /verifies each delivery: (whsec_\S+)/.exec(first.err())?.[1];
    await eventuallyPasses(async () => {
      const webhook = await read(first, `/v2/organization/webhooks/${id}`);
      expect(webhook).toMatchObject({ url, state: 'ACTIVE', behind: 0, lastSuccessAt: expect.any(String) });
    });
    const { attempts } = await read(first, `/v2/organization/webhooks/${id}/attempts`);
    expect(new Set(attempts.map(({ status }: { status: number }) => status))).toEqual(new Set([204]));
    const body = Buffer.from('{}');
    const post = async (key: string, sent: Buffer): Promise<number> => {
      const secrets = [Buffer.from(key.replace('whsec_', ''), 'base64')];
      const headers = signedHeaders(secrets, 'msg_1', Date.now(), body);
      return (await fetch(url!, { method: 'POST', headers, body: sent })).status;
    };
    expect(await post(secret!, body)).toBe(204);
    expect(await post(`whsec_${randomBytes(32).toString('base64')}`, body)).toBe(401);
    expect(await post(secret!, Buffer.from('{ }'))).toBe(401);
    await expect(post(secret!, Buffer.alloc(2_000_000))).rejects.toThrow();
    expect((await fetch(url!)).status).toBe(405);
  });

  it('prints no key, and stores its keys in files that other users cannot read', () => {
    expect(`${first.out()}${first.err()}`).not.toMatch(/tp_[0-9A-Za-z]{36}/);
    const keyFolder = join(folder, 'data', 'demo');
    expect(statSync(keyFolder).mode & 0o777).toBe(0o700);
    const files = readdirSync(keyFolder);
    expect(files).toHaveLength(2);
    for (const file of files) {
      expect(statSync(join(keyFolder, file)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(keyFolder, file), 'utf8')).toMatch(/^X-API-KEY: tp_[0-9A-Za-z]{36}\n$/);
    }
  });

  it('revokes its keys and deletes its header files and its webhook when it gets a signal', async () => {
    expect((await demoKeys()).map(({ revokedAt }) => revokedAt)).toEqual([undefined, undefined]);
    expect(await first.stop('SIGINT')).toBe(0);
    expect((await demoKeys()).map(({ revokedAt }) => revokedAt)).toEqual([expect.any(Number), expect.any(Number)]);
    expect(readdirSync(join(folder, 'data'))).not.toContain('demo');
    expect(await webhooksNow()).toEqual([]);
  });

  it(
    'does not count its data twice in a second run, and --clean removes what a killed demo leaves',
    async () => {
      const second = await runDemo();
      expect(second.err()).toContain(`0 accepted, ${events} already stored, 0 rejected`);
      const expected = { ...recount(), Reports: recount()['Reports']! + 1 };
      for (const [name, figure] of Object.entries(expected))
        expect([name, numberInChart(second.out(), name)]).toEqual([name, figure]);
      expect((await read(second, '/v2/asset/disputes')).items).toHaveLength(3);
      expect(await second.stop('SIGKILL')).toBe('SIGKILL');
      expect(await webhooksNow()).toEqual(['/receiver-of-the-demo']);

      const keyFolder = join(folder, 'data', 'demo');
      expect(readdirSync(keyFolder)).toHaveLength(2);
      writeFileSync(join(keyFolder, 'notes.header'), 'of the operator');
      const log = await createPostgresLog(database.pool);
      // Keys that an operator also named `demo`, with another lifetime or other scopes.
      const byHand = [
        { name: 'demo', scopes: ['ingest'], expiresAt: Date.now() + 20 * MS_PER_DAY },
        { name: 'demo', scopes: ['read'], organization: 'acme', expiresAt: Date.now() + 30 * MS_PER_DAY },
      ] as const;
      const ids: string[] = [];
      for (const key of byHand) ids.push((await issueApiKey(log, key)).id);
      const before = await log.head();
      const env = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data') };
      const { code, out } = await operatorCall(env, 'demo', '--clean', '--json');
      expect([code, JSON.parse(out)]).toEqual([0, { revokedKeys: 2, deletedFiles: 2, deletedWebhooks: 1 }]);
      expect(readdirSync(keyFolder)).toEqual(['notes.header']);
      const validKeys = (await demoKeys()).filter(({ revokedAt }) => revokedAt === undefined);
      expect(validKeys.map(({ id }) => id)).toEqual(ids);
      expect(await log.head()).toBe(before + 3n);
      expect((await operatorCall(env, 'demo', '--clean')).out).toMatch(
        /^Revoked 0 keys and deleted 0 header files and 0 webhooks /,
      );
    },
    TIMEOUT_MS,
  );

  it('cleans up without creating a database if there is none', async () => {
    const empty = join(folder, 'empty');
    const { code } = await operatorCall({ DATABASE_URL: '', DATA_DIR: empty }, 'demo', '--clean');
    expect([code, existsSync(empty)]).toEqual([0, false]);
  });
});
