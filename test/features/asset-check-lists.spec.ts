import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type TestApp } from '../support/app.js';

/** A list in each of three formats, and the expected status of contents. `field-cases.spec.ts` has many more. */
const LISTS: readonly (readonly [format: string, list: string, statusByContent: Readonly<Record<string, string>>])[] = [
  [
    'hosts',
    '127.0.0.1 localhost\r\n0.0.0.0 a.crlf.example # reported by b.crlf.example\r\n216.239.38.120 safe.example\r\n',
    { 'a.crlf.example': 'BLOCKED', 'b.crlf.example': 'UNKNOWN', 'safe.example': 'UNKNOWN' },
  ],
  [
    'metamask',
    JSON.stringify({ tolerance: 2, fuzzylist: [], whitelist: [], blacklist: ['sites.google.com/view/evil'] }),
    { 'https://sites.google.com/view/evil/below': 'BLOCKED', 'https://sites.google.com/view/other': 'UNKNOWN' },
  ],
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
    for (const [reason, count] of Object.entries({ redirect: 1, unreadable: 0, private: 1 }))
      expect(text).toContain(`_list_rejected_entries{source="list-0",reason="${reason}"} ${count}\n`);
  });
});
