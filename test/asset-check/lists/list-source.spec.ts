import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Guards } from '../../../src/asset-check/lists/guards.js';
import { HostingSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import { parseList } from '../../../src/asset-check/lists/parse-list.js';
import { ListSource } from '../../../src/asset-check/lists/list-source.js';
import type { ListSettings } from '../../../src/asset-check/sources/sources-file.js';
import { readSourcesStatus } from '../../../src/asset-check/sources/sources.js';
import { SuffixHashes } from '../../../src/asset-check/lists/host-table.js';
import { parseContent } from '../../../src/assets/parse-content.js';
import { HOSTILE_ENTRIES } from '../../support/cases/hostile-entries.js';
import { PRIVATE_HOSTS } from '../../support/cases/private-addresses.js';
import { eventually } from '../../support/eventually.js';
import { brief } from '../../support/list-of.js';
import { answers, type Behaviour, ListServer, sends } from '../../support/list-server.js';

const suffixes = new HostingSuffixes();
const hashes = new SuffixHashes();
const never = new AbortController().signal;
/** Whether a buffer can be freed at once. On Node 20, only the garbage collector frees the memory of a buffer. */
const CAN_FREE_BUFFERS = 'transfer' in ArrayBuffer.prototype;

describe('ListSource', () => {
  let folder: string;
  let server: ListServer;
  let url: string;
  let messages: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lists-'));
    server = new ListServer();
    url = await server.start();
    messages = [];
  });

  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const list = (settings: Partial<ListSettings> = {}): ListSource =>
    new ListSource(
      {
        id: 'list',
        kind: 'list',
        mode: 'ENABLED',
        format: 'plain',
        verdict: 'BLOCKED',
        ...(settings.file === undefined ? { url: `${url}/list` } : {}),
        refreshSeconds: 300,
        timeoutMs: 400,
        maxBytes: 100_000,
        ...settings,
      },
      suffixes,
      folder,
      (sentence) => messages.push(sentence),
    );

  const ask = (source: ListSource, content: string): string => {
    const { parsed } = parseContent(content);
    hashes.read(parsed!.host!, parsed!.isDnsName);
    return brief(source.check(parsed!, hashes));
  };

  /** The status that the operator's command shows for these lists. */
  const statusOf = async (lists: readonly object[], now?: number) => {
    const sourcesFile = join(folder, 'sources.json');
    const settings = lists.map((each) => ({ id: 'list', kind: 'list', format: 'plain', url: `${url}/list`, ...each }));
    await writeFile(sourcesFile, JSON.stringify({ sources: [{ id: 'own', kind: 'own' }, ...settings] }));
    return readSourcesStatus({ sourcesFile, dataDir: folder, variable: () => undefined }, now);
  };

  const entries = (count: number): string => Array.from({ length: count }, (_, n) => `site-${n}.example`).join('\n');

  /** The ways in which a server makes a refresh fail, and the reported errors. */
  const FAULTS: readonly (readonly [name: string, behaviour: Behaviour, error: RegExp])[] = [
    ['does not respond', () => undefined, /did not finish within 400 ms/],
    [
      'stops sending in the middle of the body',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.write('half.example\n');
      },
      /did not finish within 400 ms/,
    ],
    [
      'sends one byte every 50 ms',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const drip = setInterval(() => response.write('a'), 50);
        response.on('close', () => clearInterval(drip));
      },
      /did not finish within 400 ms/,
    ],
    ['announces a body that is too large', answers(200, { 'content-length': '104857600' }), /larger than 100000 bytes/],
    ['sends a body that is too large', sends(entries(20_000)), /larger than 100000 bytes/],
    [
      'sends an endless body',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const pour = (): void => {
          while (!response.destroyed && response.write('x.example\n'.repeat(1_000)));
        };
        response.on('drain', pour);
        pour();
      },
      /larger than 100000 bytes/,
    ],
    [
      'redirects in a circle',
      (request, response) => answers(302, { location: request.url! })(request, response),
      /not a public address/,
    ],
    [
      'redirects to a private address',
      answers(301, { location: 'http://169.254.169.254/latest' }),
      /169\.254\.169\.254: not a public address/,
    ],
    [
      'redirects to loopback by name',
      answers(301, { location: 'http://localhost:1/x' }),
      /localhost: not a public address/,
    ],
    ['redirects to a file', answers(302, { location: 'file:///etc/passwd' }), /not HTTP/],
    ['redirects without a Location header', answers(302), /without a Location/],
    ['redirects to an invalid URL', answers(302, { location: 'http://[' }), /not a valid URL/],
    ['responds with 500', answers(500), /status 500/],
    ['responds with 404', answers(404), /status 404/],
    ['sends an empty list', sends(''), /no usable entries/],
    ['sends a list without hosts', sends('com\n*\nlocalhost\n'), /no usable entries/],
    [
      'sends a web page as text/html',
      sends('<html>site-1.example</html>', { 'content-type': 'text/html' }),
      /content type text\/html/,
    ],
    [
      'sends the content type of a picture',
      sends('x.example', { 'content-type': 'image/png' }),
      /content type image\/png/,
    ],
    ['sends a web page as plain text', sends('<!doctype html>\nx.example'), /web page/],
    ['sends a web page after an entry', sends('x.example\n<html>\n'), /1 of 2 lines cannot be read/],
    ['sends a web page after comments', sends('# x\n<!-- y -->\n<html>\nx.example'), /web page/],
    [
      'sends a compressed body that was not requested',
      sends('x', { 'content-encoding': 'gzip' }),
      /content encoding gzip/,
    ],
    ['sends a list that shrank to less than a tenth', sends(entries(9)), /shrank from 100 entries to 9/],
    [
      'closes the connection in the middle of the body',
      (_, response) => {
        response.writeHead(200, { 'content-length': '50000', 'content-type': 'text/plain' });
        response.write(entries(100), () => response.destroy());
      },
      /aborted/,
    ],
    ['closes the connection at once', (request) => request.socket.destroy(), /hang up|ECONNRESET/],
    ['does not speak HTTP', (request) => request.socket.end('x.example\n'), /Parse Error/],
    ['sends one line of the maximum size', sends('x'.repeat(99_999)), /cannot be read|no usable/],
    [
      'sends a bomb in gzip',
      sends(gzipSync(entries(100_000)), { 'content-encoding': 'gzip' }),
      /content encoding gzip/,
    ],
  ];

  it.each([
    ['an object in place of an array', JSON.stringify({ 0: 'bank.com', length: 1 })],
    ['an array of 40,000 levels', '['.repeat(40_000)],
    ['JSON that breaks off', '["innocent.example","bank.com'],
    ['numbers', JSON.stringify(Array.from({ length: 100 }, (_, n) => n))],
  ])('keeps the last valid version of a JSON list if the server sends %s', async (_, body) => {
    server.behave = sends(JSON.stringify(['site-7.example']));
    const source = list({ format: 'json' });
    await source.refresh(never);
    expect(source.state).not.toHaveProperty('lastError');
    server.behave = sends(body);
    await source.refresh(never);
    expect(source.state.lastError).toEqual(expect.any(String));
    expect(ask(source, 'site-7.example')).toBe('BLOCKED site-7.example');
    expect(ask(source, 'bank.com')).toBe('not-found');
  });

  it.each([
    [
      'an allowlist that contains everything',
      { whitelist: [...HOSTILE_ENTRIES, 'github.io.'], fuzzylist: ['*', 'com', 1], tolerance: 3 },
    ],
    ['a tolerance that matches everything', { fuzzylist: ['innocent.example', 'bank.com'], tolerance: 500 }],
  ])('of the format metamask returns a verdict only for its own entries after %s', async (_, more) => {
    const good = entries(30).split('\n');
    server.behave = sends(JSON.stringify({ blacklist: good }));
    const source = list({ format: 'metamask' });
    await source.refresh(never);
    server.behave = sends(JSON.stringify({ blacklist: good, ...more }));
    await source.refresh(never);
    for (const host of good) expect(ask(source, host)).toBe(`BLOCKED ${host}`);
    for (const host of ['shop.co.uk', 'somebody.github.io', 'localhost.example', 'script.example'])
      expect([host, ask(source, host)]).toEqual([host, 'not-found']);
  });

  it.each(FAULTS)(
    'keeps the last valid version, reports the error and recovers if the server %s',
    async (_, behaviour, error) => {
      server.behave = sends(entries(100));
      const source = list();
      await source.refresh(never);
      expect(source.state).toMatchObject({ entries: 100, refused: 0 });
      server.behave = behaviour;
      const started = Date.now();
      await source.refresh(never);
      expect(Date.now() - started).toBeLessThan(5_000);
      expect(ask(source, 'site-7.example')).toBe('BLOCKED site-7.example');
      expect(source.state.entries).toBe(100);
      expect(source.state.lastError).toMatch(error);
      expect(messages.at(-1)).toContain('List list was not refreshed');
      server.behave = sends(entries(101));
      await source.refresh(never);
      expect(source.state).toMatchObject({ entries: 101 });
      expect(source.state).not.toHaveProperty('lastError');
      expect(messages.at(-1)).toBe('List list is current again: 101 entries');
    },
  );

  it('downloads the list only if the list has changed', async () => {
    server.behave = sends(entries(10), { etag: '"v1"', 'last-modified': 'Tue, 03 Feb 2026 00:00:00 GMT' });
    const source = list();
    await source.refresh(never);
    server.behave = answers(304);
    await source.refresh(never);
    expect(server.requests.at(-1)!.headers).toMatchObject({
      'if-none-match': '"v1"',
      'if-modified-since': 'Tue, 03 Feb 2026 00:00:00 GMT',
    });
    expect(source.state).toMatchObject({ entries: 10, validators: { etag: '"v1"' } });
    await source.refresh(never);
    expect(server.requests.at(-1)!.headers).toMatchObject({ 'if-none-match': '"v1"' });
    expect(ask(source, 'site-7.example')).toBe('BLOCKED site-7.example');
  });

  it('saves the list on disk, and loads that copy at the next start before any download', async () => {
    server.behave = sends(entries(10), { etag: '"v1"' });
    await list().refresh(never);
    server.behave = answers(500);
    const next = list();
    await next.load();
    expect(ask(next, 'site-7.example')).toBe('BLOCKED site-7.example');
    await next.refresh(never);
    expect(server.requests.at(-1)!.headers).toMatchObject({ 'if-none-match': '"v1"' });
    expect(ask(next, 'site-7.example')).toBe('BLOCKED site-7.example');
    // A copy with another URL, format or verdict is not used.
    for (const other of [list({ url: `${url}/other` }), list({ verdict: 'ALLOWED' }), list({ format: 'hosts' })]) {
      await other.load();
      expect(ask(other, 'site-7.example')).toBe('source-error');
    }
  });

  it('asks for the whole list again if the copy on disk is not the one that the state describes', async () => {
    server.behave = sends('old.example', { etag: '"v1"' });
    await list().refresh(never);
    const copy = join(folder, 'lists', 'list.list');
    server.behave = sends('new.example', { etag: '"v2"' });
    await list().refresh(never);
    await writeFile(copy, 'old.example');
    server.behave = ({ headers }, response) =>
      (headers['if-none-match'] === undefined ? sends('new.example') : answers(304))({} as never, response);
    const next = list();
    await next.load();
    expect(ask(next, 'old.example')).toBe('BLOCKED old.example');
    await next.refresh(never);
    expect(ask(next, 'new.example')).toBe('BLOCKED new.example');
  });

  it('keeps no copy of a list that has become a file', async () => {
    server.behave = sends('old.example', { etag: '"v1"' });
    await list().refresh(never);
    const file = join(folder, 'house.txt');
    await writeFile(file, 'new.example');
    await list({ file }).refresh(never);
    const next = list({ file });
    await next.load();
    expect(await readdir(join(folder, 'lists'))).toEqual(['list.json', 'list.seen']);
    await next.refresh(never);
    expect(ask(next, 'old.example')).toBe('not-found');
    expect(ask(next, 'new.example')).toBe('BLOCKED new.example');
  });

  it('removes what downloads that were killed have left of this list', async () => {
    const old = new Date(Date.now() - 2 * 3_600_000);
    const part = (name: string): string => `${name}.0123456789abcdef.part`;
    const [left, others] = [
      ['list.list', 'list.json', 'list.seen'].map(part),
      ['list.list.list', 'other.list'].map(part),
    ];
    const running = 'list.list.fedcba9876543210.part';
    await mkdir(join(folder, 'lists'));
    for (const name of [...left, ...others, running]) await writeFile(join(folder, 'lists', name), 'half');
    for (const name of [...left, ...others]) await utimes(join(folder, 'lists', name), old, old);
    await list().load();
    expect((await readdir(join(folder, 'lists'))).sort()).toEqual([...others, running].sort());
  });

  it('does not load a broken copy', async () => {
    server.behave = sends(entries(10));
    await list().refresh(never);
    for (const broken of ['', '<html>', '\u0000\u0001']) {
      await writeFile(join(folder, 'lists', 'list.list'), broken);
      const source = list();
      await source.load();
      expect(ask(source, 'site-7.example')).toBe('source-error');
    }
    for (const broken of ['', 'null', '{"origin":7}', '{']) {
      await writeFile(join(folder, 'lists', 'list.json'), broken);
      const source = list();
      await source.load();
      expect(ask(source, 'site-7.example')).toBe('source-error');
    }
  });

  it('keeps first-seen times across refreshes, rejected lists and a restart', async () => {
    const clock = jest.spyOn(Date, 'now');
    const hour = 3_600_000;
    const noon = Date.parse('2026-03-01T12:00:00Z');
    const refreshAt = async (source: ListSource, at: number, behaviour: Behaviour): Promise<void> => {
      clock.mockReturnValue(at);
      server.behave = behaviour;
      await source.refresh(never);
    };
    try {
      const source = list();
      expect(await source.seenSince('site-1.example')).toBeUndefined();
      await refreshAt(source, noon, sends(entries(100), { etag: '"1"' }));
      await refreshAt(source, noon + hour, sends('<html>', { 'content-type': 'text/html' }));
      await refreshAt(source, noon + 2 * hour, sends(`${entries(50)}\nhttp://New.Example/`));
      const restarted = list();
      await restarted.load();
      await refreshAt(restarted, noon + 3 * hour, answers(304));
      for (const each of [source, restarted]) {
        expect(await each.seenSince('site-1.example')).toEqual({ since: noon, watchedSince: noon });
        expect(await each.seenSince('http://New.Example/')).toEqual({ since: noon + 2 * hour, watchedSince: noon });
        expect(await each.seenSince('site-99.example')).toEqual({ watchedSince: noon });
        expect(await each.seenSince(undefined)).toEqual({ watchedSince: noon });
      }
    } finally {
      clock.mockRestore();
    }
  });

  it('uses the time of the download as first-seen time if the copy has no first-seen file', async () => {
    const source = list();
    server.behave = sends(entries(100), { etag: '"1"' });
    await source.refresh(never);
    await rm(join(folder, 'lists', 'list.seen'));
    const restarted = list();
    await restarted.load();
    server.behave = answers(304);
    await restarted.refresh(never);
    const since = Math.floor(source.state.fetchedAt! / 1_000) * 1_000;
    expect(await restarted.seenSince('site-1.example')).toEqual({ since, watchedSince: since });
  });

  it('uses the list and logs a warning if first-seen times cannot be saved', async () => {
    await mkdir(join(folder, 'lists', 'list.seen'), { recursive: true });
    const source = list();
    server.behave = sends(entries(100));
    await source.refresh(never);
    expect(ask(source, 'site-1.example')).toBe('BLOCKED site-1.example');
    expect(await source.seenSince('site-1.example')).toBeUndefined();
    expect(messages).toEqual([expect.stringMatching(/^First-seen times of list list could not be saved: /)]);
  });

  it('writes the list to disk during the download, and leaves no file of a rejected list', async () => {
    const source = list();
    server.behave = sends(entries(100));
    await source.refresh(never);
    const listsFolder = join(folder, 'lists');
    server.behave = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      response.write('half.example\n');
    };
    const refused = source.refresh(never);
    await eventually('the first half is on disk', async () => {
      const part = (await readdir(listsFolder)).find((name) => name.endsWith('.part'));
      return part !== undefined && (await readFile(join(listsFolder, part), 'utf8')) === 'half.example\n';
    });
    await refused;
    expect((await readdir(listsFolder)).sort()).toEqual(['list.json', 'list.list', 'list.seen']);
    // This list is rejected after a complete download.
    server.behave = sends(entries(5));
    await source.refresh(never);
    expect(source.state.lastError).toMatch(/shrank/);
    expect((await readdir(listsFolder)).sort()).toEqual(['list.json', 'list.list', 'list.seen']);
    expect(await readFile(join(listsFolder, 'list.list'), 'utf8')).toBe(entries(100));
  });

  (CAN_FREE_BUFFERS ? it : it.skip)('frees the memory of the replaced version at once', async () => {
    server.behave = sends(entries(10));
    const source = list();
    await source.refresh(never);
    const { table } = source['content']!;
    expect(table.bytes).toBeGreaterThan(0);
    await source.refresh(never);
    expect(table.bytes).toBe(0);
    expect(ask(source, 'site-7.example')).toBe('BLOCKED site-7.example');
  });

  it('uses the list even if the list cannot be saved on disk', async () => {
    server.behave = sends(entries(10));
    await writeFile(join(folder, 'lists'), 'a file where the folder should be');
    const source = list();
    await source.refresh(never);
    expect(ask(source, 'site-7.example')).toBe('BLOCKED site-7.example');
    expect(messages.at(-1)).toMatch(/could not be saved/);
  });

  it('reads a local file again when the file changes', async () => {
    const file = join(folder, 'house.txt');
    await writeFile(file, 'one.example');
    const source = list({ file });
    await source.refresh(never);
    expect(ask(source, 'one.example')).toBe('BLOCKED one.example');
    await writeFile(file, 'two.example');
    await utimes(file, new Date(), new Date(Date.now() + 5_000));
    await source.refresh(never);
    expect(ask(source, 'two.example')).toBe('BLOCKED two.example');
    expect(ask(source, 'one.example')).toBe('not-found');
    await rm(file);
    await source.refresh(never);
    expect(ask(source, 'two.example')).toBe('BLOCKED two.example');
    expect(source.state.lastError).toMatch(/ENOENT/);
    await writeFile(file, 'x.example\n'.repeat(20_000));
    await source.refresh(never);
    expect(source.state.lastError).toMatch(/larger than/);
  });

  it('saves the state that the operator’s command shows in another process', async () => {
    server.behave = sends(`${entries(10)}\ncom\nuser@evil.example`);
    const source = list();
    await source.refresh(never);
    server.behave = answers(503);
    await source.refresh(never);
    const unread = { id: 'unread', mode: 'DISABLED' };
    const status = await statusOf([{}, unread], source.state.checkedAt! + 60_000);
    expect(status).toEqual([
      {
        id: 'list',
        kind: 'list',
        mode: 'ENABLED',
        from: `${url}/list`,
        entries: 10,
        refused: 2,
        rejected: [
          { reason: 'public-suffix', count: 1, examples: ['com'] },
          { reason: 'unsupported', count: 1, examples: ['user@evil.example'] },
        ],
        ageSeconds: 60,
        lastError: 'The server responded with status 503',
        lastErrorAt: expect.any(Number),
      },
      { id: 'unread', kind: 'list', mode: 'DISABLED', from: `${url}/list`, entries: 0, refused: 0 },
    ]);
  });

  it('logs rejected entries once, and again when they change', async () => {
    const source = list();
    for (const bad of ['com', 'com', 'com\nlocalhost', 'com\nlocalhost']) {
      server.behave = sends(`${entries(10)}\n${bad}`);
      await source.refresh(never);
    }
    server.behave = sends(entries(10));
    await source.refresh(never);
    expect(messages).toEqual([
      'List list has 1 entries that are not used: 1 public-suffix ("com")',
      'List list has 2 entries that are not used: 1 public-suffix ("com"), 1 private ("localhost")',
    ]);
    expect(source.state).toMatchObject({ refused: 0, rejected: [] });
  });

  it('neither shows nor stores the secrets in its URL', async () => {
    server.behave = sends(entries(10));
    const secret = `${url.replace('://', '://user:hunter2@')}/list?token=s3cret#part`;
    const source = list({ url: secret });
    await source.refresh(never);
    expect(source.state.entries).toBe(10);
    server.behave = answers(401);
    await source.refresh(never);
    const status = await statusOf([{ url: secret }]);
    expect(status).toMatchObject([{ from: `${url}/list` }]);
    const listsFolder = join(folder, 'lists');
    const texts = await Promise.all(
      (await readdir(listsFolder)).map((name) => readFile(join(listsFolder, name), 'utf8')),
    );
    expect(JSON.stringify([status, messages, source.state, texts])).not.toMatch(/user|hunter2|token|s3cret|#part/);
    // The copy is used for the same URL, but not for a URL with another query.
    const [same, other] = [list({ url: secret }), list({ url: secret.replace('s3cret', 'other') })];
    await same.load();
    expect(ask(same, 'site-7.example')).toBe('BLOCKED site-7.example');
    await other.load();
    expect(ask(other, 'site-7.example')).toBe('source-error');
  });

  (process.platform === 'win32' ? it.skip : it)(
    'stores the list so that only the owner of the file can read it',
    async () => {
      server.behave = sends(entries(10));
      await list().refresh(never);
      const modeOf = async (...path: string[]): Promise<number> => (await stat(join(folder, ...path))).mode & 0o777;
      expect([await modeOf('lists'), await modeOf('lists', 'list.json'), await modeOf('lists', 'list.list')]).toEqual([
        0o700, 0o600, 0o600,
      ]);
    },
  );

  describe('with a guard', () => {
    const guardFile = (): string => join(folder, 'guard.txt');
    const sourcesWith = (
      onChange?: () => Promise<unknown>,
    ): { guard: ListSource; guards: Guards; near: ListSource } => {
      const settings = { id: 'popular', kind: 'guard', mode: 'ENABLED', format: 'plain', verdict: 'GUARDED' } as const;
      const limits = { refreshSeconds: 300, timeoutMs: 400, maxBytes: 100_000 };
      const guard: ListSource = new ListSource(
        { ...settings, ...limits, url: `${url}/g` },
        suffixes,
        folder,
        () => undefined,
        undefined,
        () => (onChange === undefined ? near.countOverruled() : onChange()),
      );
      const guards = new Guards([guard]);
      const near: ListSource = new ListSource(
        { ...settings, ...limits, id: 'near', kind: 'list', verdict: 'BLOCKED', file: guardFile() },
        suffixes,
        folder,
        (sentence) => messages.push(sentence),
        guards,
      );
      return { guard, guards, near };
    };

    beforeEach(async () => {
      await writeFile(guardFile(), 'a.example\nb.example\nc.example\n');
      server.behave = sends('a.example\n');
    });

    it('counts the overruled entries when the list or the guard changes', async () => {
      const { guard, near } = sourcesWith();
      await near.refresh(never);
      expect(near.state.overruled).toBeUndefined();
      await guard.refresh(never);
      expect(near.state.overruled).toMatchObject({ count: 1 });
      server.behave = sends('a.example\nb.example\n');
      await guard.refresh(never);
      expect(near.state.overruled).toMatchObject({ count: 2 });
      await writeFile(guardFile(), 'c.example\nb.example\n');
      await near.refresh(never);
      expect(near.state.overruled).toEqual({ count: 1, examples: [{ entry: 'b.example', guard: 'popular' }] });
      expect(JSON.parse(await readFile(join(folder, 'lists', 'near.json'), 'utf8'))).toMatchObject(near.state);
      expect(messages).toEqual([]);
    });

    it('keeps the last valid copy of the guard in use, also after a restart', async () => {
      const first = sourcesWith();
      await first.guard.refresh(never);
      server.behave = answers(500);
      await first.guard.refresh(never);
      await first.near.refresh(never);
      expect(ask(first.near, 'a.example')).toBe('a.example not-found');
      const second = sourcesWith();
      await second.guard.load();
      await second.guard.refresh(never);
      await second.near.refresh(never);
      expect(ask(second.near, 'a.example')).toBe('a.example not-found');
      expect(second.near.state.overruled).toMatchObject({ count: 1 });
    });

    it('counts again if the guard is replaced during the count', async () => {
      const hosts = Array.from({ length: 20_000 }, (_, n) => `host-${n}.example`);
      await writeFile(guardFile(), hosts.slice(0, 5_000).join('\n'));
      server.behave = sends(hosts.slice(0, 4_000).join('\n'));
      const { guard, guards, near } = sourcesWith(() => Promise.resolve());
      await guard.refresh(never);
      const count = guards.overruledEntriesOf.bind(guards);
      jest.spyOn(guards, 'overruledEntriesOf').mockImplementationOnce(async (...given) => {
        const outdated = await count(...given);
        server.behave = sends(hosts.slice(1_000, 5_000).concat(hosts[0]!).join('\n'));
        await guard.refresh(never);
        return outdated;
      });
      await near.refresh(never);
      expect(near.state.overruled).toMatchObject({ count: 4_001 });
    });
  });

  it('saves complete files if refreshes overlap', async () => {
    server.behave = sends(entries(10));
    const [one, other] = [list(), list()];
    await Promise.all([one.refresh(never), other.refresh(never), one.refresh(never)]);
    expect(JSON.parse(await readFile(join(folder, 'lists', 'list.json'), 'utf8'))).toMatchObject({ entries: 10 });
    expect((await readFile(join(folder, 'lists', 'list.list'), 'utf8')).split('\n')).toHaveLength(10);
  });

  it.each(['plain', 'json'] as const)(
    'yields to other requests while it parses 200,000 entries in the format %s',
    async (format) => {
      const text = format === 'plain' ? entries(200_000) : JSON.stringify(entries(200_000).split('\n'));
      const bytes = Buffer.from(text);
      let turns = 0;
      const countTurn = (): void => {
        turns += 1;
        waiting = setImmediate(countTurn);
      };
      let waiting = setImmediate(countTurn);
      const { table } = await parseList({ chunks: [bytes], size: bytes.length }, format, 'BLOCKED', suffixes);
      clearImmediate(waiting);
      expect(table.size).toBe(200_000);
      expect(turns).toBeGreaterThan(20);
    },
  );

  it.each(PRIVATE_HOSTS)('does not connect to the private redirect target %s', async (target) => {
    const secret = new ListServer();
    const { port } = new URL(await secret.start());
    server.behave = answers(302, { location: `http://${target}:${port}/secret` });
    const source = list({ timeoutMs: 2_000 });
    await source.refresh(never);
    await secret.stop();
    expect(source.state.lastError).toMatch(/^The server redirected to .+: not a public address$/);
    expect(secret.connections).toBe(0);
  });
});
