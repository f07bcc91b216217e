import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { format } from 'prettier';
import * as client from '../../docs/examples/local-list.js';
import { AssetChecker } from '../../src/asset-check/asset-checker.js';
import type { AssetCheckResponse } from '../../src/asset-check/asset-check.dto.js';
import { ListBuilder } from '../../src/lists/build/list-builder.js';
import { LIST_NAMES, type ListName } from '../../src/lists/built-lists.js';
import * as product from '../../src/lists/expressions.js';
import { ListBodies } from '../../src/lists/list-bodies.js';
import { publishLists, readSigner } from '../../src/lists/publish-lists.js';
import { followLists, readToken, ServedList } from '../../src/lists/served-list.js';
import { type OwnStatus, sourcesOf, suffixes, type TestList } from '../asset-check/checker-of.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const PATH = join(import.meta.dirname, '../../docs/examples/local-list-vectors.json');
const IS_RECORDING = process.env['RECORD_PAGES'] === '1';
const CUT_AT = Date.UTC(2026, 2, 1, 12);
/** Ed25519 in PKCS 8: the prefix, and 32 known bytes, so that the signatures are the same in each run. */
const KEY = Buffer.from(`302e020100300506032b657004220420${'4c'.repeat(32)}`, 'hex').toString('base64');
const SIGNER = readSigner(`-----BEGIN PRIVATE KEY-----\n${KEY}\n-----END PRIVATE KEY-----\n`);

const ACCOUNT = '0x00000000219ab540356cbb839cbe05303d7705fa';
const CID = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi';
const STATUSES: readonly OwnStatus[] = [
  'BLOCKED URL evil.example',
  'ALLOWED URL good.evil.example',
  `BLOCKED ADDRESS ${ACCOUNT}`,
  'BLOCKED EMAIL joe@mail.example',
  `BLOCKED IPFS ${CID}`,
];
const REMOVED: OwnStatus = 'BLOCKED URL late.example';
const ADDED: readonly OwnStatus[] = ['BLOCKED URL new.example', 'BLOCKED URL newer.example', 'ALLOWED URL ads.example'];
const LISTS: readonly TestList[] = [
  {
    text: 'drainer.pages.dev\nhost.example/phish\n1.2.3.0/24\n198.51.100.7\nads.example\n1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  },
  { verdict: 'ALLOWED', text: '1.2.3.4' },
  {
    format: 'metamask',
    text: '{"tolerance":1,"fuzzylist":["wallet.io"],"whitelist":["wallet.org"],"blacklist":["fake.example"]}',
  },
  { format: 'adblock', text: '||ads.example^\n@@||ok.ads.example^\n|exact.example^' },
];
const CONTENTS = [
  'evil.example',
  'https://EVIL.example/',
  'http://a.b.evil.example/login?x=1#top',
  'good.evil.example',
  'x.good.evil.example/page',
  'joe@evil.example',
  'host.example',
  'https://host.example/phish',
  'https://host.example/phish/',
  'https://host.example/phish/more/still',
  'https://host.example/phish/press',
  'https://www.host.example/phish?id=7',
  'https://host.example/phishing',
  'https://host.example?phish',
  'new.example/a',
  'late.example',
  'drainer.pages.dev',
  'other.pages.dev/x',
  'ads.example',
  'ok.ads.example',
  'exact.example',
  'below.exact.example',
  'fake.example',
  'walet.io',
  'www.wallett.com/claim',
  'wallet.org',
  'walle.wallet.org',
  '1.2.3.5',
  'http://1.2.3.4/x',
  ACCOUNT.toUpperCase().replace('X', 'x'),
  '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  CID,
  'joe@mail.example',
  'jane@mail.example',
  'joe@gmail.com',
  'https://medium.com/somebody',
  'https://www.google.com/url',
  'https://x.example/?next=https://evil.example',
  'router.local',
  'hello world',
];

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Makes the vectors with the builder, the stored versions and the responses of the service. */
const vectors = async () => {
  const served = LIST_NAMES.map((name) => new ServedList(name));
  const bodies = new ListBodies();
  const bodyOf = async (name: ListName, since?: string): Promise<client.Update> => {
    const list = served.find((one) => one.name === name)!;
    const mark = since === undefined ? undefined : readToken(since);
    return JSON.parse(String(await bodies.jsonOf(list, list.served!, mark, false))) as client.Update;
  };
  const publish = async (statuses: readonly OwnStatus[], cutAt: number): Promise<(content: string) => string> => {
    const sources = await sourcesOf(statuses, LISTS, []);
    const built = (await new ListBuilder(sources, suffixes).build(1))!;
    await publishLists(database.pool, served, built, { cutAt, signer: SIGNER });
    await followLists(database.pool, served);
    const checker = new AssetChecker(sources, 1_000);
    return (content) => (checker.check(content, 'acme') as AssetCheckResponse).status;
  };
  const statusBefore = await publish([...STATUSES, REMOVED], CUT_AT);
  const whole = { list: await bodyOf('all-8b'), ask: await bodyOf('ask-8b') };
  const statusAfter = await publish([...STATUSES, ...ADDED], CUT_AT + 60_000);
  const update = await bodyOf('all-8b', whole.list.version);
  const held = {
    list: client.updated(whole.list, 'all-8b', undefined, SIGNER.publicKey),
    ask: client.updated(whole.ask, 'ask-8b', undefined, SIGNER.publicKey),
  };
  const after = { ...held, list: client.updated(update, 'all-8b', held.list, SIGNER.publicKey) };
  const contents = CONTENTS.map((content) => ({
    content,
    before: client.check(content, held, CUT_AT),
    after: client.check(content, after, CUT_AT),
    steps:
      client
        .stepsOf(content)
        ?.map(([half, expression, result, askIf]) =>
          [half, result, client.hashOf(expression).toString(16).padStart(16, '0'), expression, askIf ?? ''].join(' '),
        )
        .map((step) => step.trim()) ?? null,
  }));
  return { file: { publicKey: SIGNER.publicKey, whole, update, contents }, statusBefore, statusAfter };
};

describe('docs/examples/local-list-vectors.json', () => {
  it('is what builder, coder and signer make, which `npm run record` writes', async () => {
    const { file, statusBefore, statusAfter } = await vectors();
    const text = await format(JSON.stringify(file), { parser: 'json', printWidth: 120 });
    if (IS_RECORDING) writeFileSync(PATH, text);
    expect(readFileSync(PATH, 'utf8')).toBe(text);
    expect([file.update.partialUpdate, file.contents.length]).toEqual([true, 40]);
    for (const { content, before, after } of file.contents) {
      const isOf = (status: string): string => (status === 'BLOCKED' ? 'LISTED' : 'NOT_LISTED');
      expect([content, before]).toEqual([content, before === 'ASK' ? 'ASK' : isOf(statusBefore(content))]);
      expect([content, after]).toEqual([content, after === 'ASK' ? 'ASK' : isOf(statusAfter(content))]);
    }
  });
});

describe('What both the builder and the client know', () => {
  const HOSTS = ['a.example', 'www.a.b.example', 'www.www.a', 'x.www.b.c.example', 'wwww.a.co.uk'];
  const PATHS = ['/', '/a', '/a/', '/a.', '/./a', '/a/..', '/.a/b', '/ipfs/x', '/IPNS/x', '/ipfs', '/a b', '/ä'];
  const LONG = [14, 15, 16, 17].map((segments) => '/a'.repeat(segments));

  it('is the same', () => {
    for (const host of HOSTS) {
      expect(client.withParents(host)).toEqual(product.withParents(host));
      expect(client.formOf(host)).toBe(product.formOf(host));
    }
    for (const path of [...PATHS, ...LONG]) expect(client.isPlainPath(path)).toBe(product.isPlainPath(path));
    expect([...PATHS, ...LONG].filter(client.isPlainPath)).toEqual(['/a', '/.a/b', '/ipfs', ...LONG.slice(0, 2)]);
    for (let bits = 8; bits <= 32; bits += 1)
      for (const address of ['1.2.3.4', '255.255.255.255', '192.168.129.77'])
        expect(client.rangeExpression(address, bits)).toBe(product.rangeExpression(address, bits));
  });
});
