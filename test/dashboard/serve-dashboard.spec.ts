import { readdirSync } from 'node:fs';
import { extname, posix } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { sharedApp } from '../support/open-for-tests.js';

const app = sharedApp();
let page: Response;
let html: string;
beforeAll(async () => {
  page = await fetch(`${app.url}/dashboard`);
  html = await page.text();
});

/** Returns the folder of the page's files, which the HTML of the page names. */
const folder = (): string => /src="(dashboard\/[0-9a-f]{16}\/)main\.js"/.exec(html)![1]!;
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${app.url}/${path}`, { headers });

describe('GET /dashboard', () => {
  it('returns a page that may load only files of this service and may not be framed', () => {
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe|https?:|data:|\*/);
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('returns HTML without inline scripts, inline styles and URLs of other hosts', () => {
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script[^>]*>[^<]|https?:/);
  });

  it('serves every file that the page and its scripts reference, and the page has no unreferenced files', async () => {
    const referenced = new Set<string>();
    const follow = async (names: Iterable<string>): Promise<void> => {
      for (const name of names) {
        if (referenced.has(name)) continue;
        referenced.add(name);
        const response = await get(folder() + name);
        expect([name, response.status]).toEqual([name, 200]);
        const text = await response.text();
        const others = [...text.matchAll(/from '(\.[^']+)'/g)].map(([, other]) =>
          posix.join(posix.dirname(name), other!),
        );
        if (name !== 'chart.js') await follow(others);
      }
    };
    const linked = [...html.matchAll(/(?:src|href)="dashboard\/[0-9a-f]+\/([^"]+)"/g)].map(([, name]) => name!);
    await follow(linked);
    const files = readdirSync('src/dashboard/page', { recursive: true, encoding: 'utf8' }).filter((name) =>
      extname(name),
    );
    expect([...referenced].sort()).toEqual(['chart.js', ...files.filter((name) => name !== 'index.html')].sort());
  });

  it('is revalidated on each load, but its files are cached for a year because their URL contains their version', async () => {
    expect(page.headers.get('cache-control')).toBe('no-cache');
    expect((await get('dashboard', { 'if-none-match': page.headers.get('etag')! })).status).toBe(304);
    const file = await get(`${folder()}main.js`);
    expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    // During a deployment, the page of another version requests files of that version.
    expect((await get('dashboard/0123456789abcdef/main.js')).headers.get('cache-control')).toBe('no-cache');
  });

  it('returns 404 for every other path below it', async () => {
    const otherNames = [
      'index.html',
      'nothing.js',
      '..%2fserve-dashboard.js',
      '%2e%2e%2fserve-dashboard.js',
      '__proto__',
    ];
    for (const name of otherNames) {
      const response = await get(folder() + name);
      expect([name, response.status, ((await response.json()) as { code: string }).code]).toEqual([
        name,
        404,
        'NOT_FOUND',
      ]);
    }
  });

  it('redirects /dashboard/ to /dashboard', async () => {
    const response = await get('dashboard/');
    expect([response.redirected, response.url, response.status]).toEqual([true, `${app.url}/dashboard`, 200]);
  });

  it('receives a browser that opens /, but other clients of / and other methods get the 404 of the API', async () => {
    const root = (headers: Record<string, string>, method = 'GET'): Promise<Response> =>
      fetch(`${app.url}/`, { method, headers, redirect: 'manual' });
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    const redirect = await root({ accept: browser });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, 'dashboard']);
    expect(redirect.headers.get('vary')).toContain('Accept');
    const others = [root({ accept: '*/*' }), root({ accept: 'application/json' }), root({ accept: browser }, 'POST')];
    for (const response of await Promise.all(others))
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([404, 'NOT_FOUND']);
  });

  it('is not part of the API reference', async () => {
    expect(await (await get('openapi.json')).text()).not.toContain('/dashboard');
  });
});
