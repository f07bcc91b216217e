import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';

const CID = 'QmaMMPbpjEBqQMfksDTrto1usRpNat9xL6J6ocJ7YNSz3k';
const CID_V1 = 'bafybeifh3smysh2mf37vaohwc2gpcydxdouxzlemuujbvwwi4eplnurfua';

/** Published lists, and the expected status of contents. */
const LISTS: readonly (readonly [format: string, list: string, statusByContent: Readonly<Record<string, string>>])[] = [
  [
    'hosts',
    '127.0.0.1 localhost\r\n0.0.0.0 a.crlf.example # reported by b.crlf.example\r\n',
    { 'a.crlf.example': 'BLOCKED', 'b.crlf.example': 'UNKNOWN' },
  ],
  [
    'hosts',
    '0.0.0.0 # a.comment.example\r\n127.0.0.1 localhost # see b.comment.example\r\n0.0.0.0 c.comment.example\r\n',
    { 'a.comment.example': 'UNKNOWN', 'b.comment.example': 'UNKNOWN', 'c.comment.example': 'BLOCKED' },
  ],
  [
    'plain',
    '# hosts\r\ndated.example # added 2026-01-01\r\ndated-b.example\r\n',
    { 'dated.example': 'BLOCKED', 'dated-b.example': 'BLOCKED' },
  ],
  [
    'metamask',
    JSON.stringify({ version: 2, tolerance: 2, fuzzylist: [], whitelist: [], blacklist: ['cid.example', CID] }),
    { [`https://ipfs.io/ipfs/${CID}`]: 'BLOCKED' },
  ],
  ['plain', `cid-b.example\n${CID_V1}\n`, { [`https://ipfs.io/ipfs/${CID_V1}`]: 'BLOCKED' }],
  [
    'metamask',
    JSON.stringify({ tolerance: 2, fuzzylist: [], whitelist: [], blacklist: ['sites.google.com/view/evil'] }),
    {
      'https://sites.google.com/view/evil': 'BLOCKED',
      'https://sites.google.com/view/evil/below': 'BLOCKED',
      'https://sites.google.com/view/other': 'UNKNOWN',
    },
  ],
  [
    'plain',
    'pages.example\ncdpn.io/evil/fullpage/abc\nuploader.irys.xyz/EvilTx\n',
    {
      'https://cdpn.io/evil/fullpage/abc': 'BLOCKED',
      'https://uploader.irys.xyz/EvilTx': 'BLOCKED',
      'https://cdpn.io/other/fullpage/abc': 'UNKNOWN',
    },
  ],
  [
    'plain',
    'https://query.example/?ref=1\nhttps://fragment.example/#/connect\n',
    { 'query.example': 'BLOCKED', 'https://fragment.example/': 'BLOCKED' },
  ],
  [
    'plain',
    'https://path.example/verify/account\n',
    { 'https://path.example/verify/account': 'BLOCKED', 'https://path.example/': 'UNKNOWN' },
  ],
  [
    'plain',
    '*.star.example\n.dot.example\n',
    { 'x.star.example': 'BLOCKED', 'star.example': 'UNKNOWN', 'x.dot.example': 'BLOCKED' },
  ],
  [
    'hosts',
    '0.0.0.0 block.example\n216.239.38.120 safe.example #forcesafesearch\n',
    { 'block.example': 'BLOCKED', 'safe.example': 'UNKNOWN' },
  ],
  [
    'plain',
    '\n<!-- generated -->\n<!DOCTYPE html>\n<html><head><title>503</title></head>\n<body>\npage.example\n</body></html>\n',
    { 'page.example': 'UNKNOWN' },
  ],
  ['plain', '<!-- 404 --> <html>\n<body><pre>\npage-b.example\n</pre>\n', { 'page-b.example': 'UNKNOWN' }],
  [
    'polkadot',
    '{"allow":[],"deny":["denied.example"],"denySub":["twitter.com/EvilNetworks"]}',
    { 'https://x.com/EvilNetworks': 'BLOCKED', 'https://x.com/OtherNetworks': 'UNKNOWN' },
  ],
];

describe('The asset check with handwritten lists', () => {
  let folder: string;
  let app: TestApp;
  let key: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lists-'));
    await mkdir(join(folder, 'data'));
    const sources: object[] = [{ id: 'own', kind: 'own' }];
    for (const [index, [format, list]] of LISTS.entries()) {
      const file = join(folder, `${index}.list`);
      await writeFile(file, list);
      sources.push({ id: `list-${index}`, kind: 'list', format, file });
    }
    await writeFile(join(folder, 'sources.json'), JSON.stringify({ sources }));
    app = await startApp({ env: { SOURCES_FILE: join(folder, 'sources.json'), DATA_DIR: join(folder, 'data') } });
    key = await app.issueKey({ organization: 'acme', scopes: ['read'] });
  });

  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true });
  });

  const rows = LISTS.flatMap(([format, list, statusByContent]) =>
    Object.entries(statusByContent).map(([content, status]) => [format, list, content, status] as const),
  );
  it.each(rows)('parses the %s list %j: the status of %s is %s', async (_, __, content, status) => {
    const { body } = await app.call('/v2/asset/check', { key, json: { content } });
    expect(body).toMatchObject({ status });
  });

  it('counts rejected entries in /metrics by list and reason', async () => {
    const { body: text } = await app.call('/metrics');
    expect(text).toContain('threat_protection_asset_check_list_rejected_entries{source="list-10",reason="redirect"} 1');
    expect(text).toContain(
      'threat_protection_asset_check_list_rejected_entries{source="list-10",reason="unreadable"} 0',
    );
    expect(text).toContain('threat_protection_asset_check_list_rejected_entries{source="list-0",reason="private"} 1');
  });
});
