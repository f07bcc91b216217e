import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { sent } from '../../support/upstream.js';
import { daysAgo, MS_PER_DAY, takedown } from './acme-events.js';
import { dashboard, evaluate, lastAsked, settled, spokenTime, summary, table } from './opened-dashboard.js';

const HOUR_MS = 3_600_000;
const VISIT = 'threat-protection-visit:acme';
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();
const REFRESH_MS = 31_000;
const first = async (page: Page, id: string): Promise<string[]> => (await table(page, `#${id}`)).map(([name]) => name!);

/**
 * Opens the page as if the organization had more disputes than one request returns, each of them decided.
 * @param sources what the sources say of each asset; read at each check
 * @returns the page, and the contents of each check
 */
const withDisputes = async (sources: readonly unknown[]): Promise<{ page: Page; checked: string[][] }> => {
  const { page } = await dashboard.openFigures();
  const checked: string[][] = [];
  await page.route('**/v2/asset/disputes?*', (route) => {
    const length = Number(new URL(route.request().url()).searchParams.get('limit') ?? 100);
    const items = Array.from({ length }, (_, n) => ({
      id: `n${n}`,
      content: `n${n}.example`,
      asset: { type: 'URL', content: `n${n}.example` },
      status: 'REJECTED',
      createdAt: daysAgo(1),
      updatedAt: daysAgo(1),
    }));
    return route.fulfill({
      headers: { etag: '"1"' },
      ...(route.request().headers()['if-none-match'] === '"1"'
        ? { status: 304 }
        : { json: { items, nextCursor: 'more' } }),
    });
  });
  await page.route('**/asset/check/bulk', (route) => {
    const { contents } = route.request().postDataJSON() as { contents: string[] };
    checked.push(contents);
    const results = contents.map(() => ({ status: 'UNKNOWN', source: 'own', sources }));
    return route.fulfill({ json: { results, summary: { incomplete: sources.length === 0 ? 0 : contents.length } } });
  });
  await page.clock.fastForward(REFRESH_MS);
  return { page, checked };
};

export const mornings = () =>
  describe('as a team opens it each morning', () => {
    it('shows the open takedowns, oldest first, with their age, and saves them', async () => {
      await dashboard.record(takedown('oldest', 'TODO', 100), takedown('middle', 'IN_PROGRESS', 50));
      const { page } = await dashboard.openFigures('?range=7d');
      expect((await table(page, '#open-takedowns')).map((row) => row.slice(0, 3))).toEqual([
        ['oldest.example', 'wallet', 'To do'],
        ['middle.example', 'wallet', 'In progress'],
        ['waiting.example', 'wallet', 'To do'],
      ]);
      expect(await summary(page, 'open-takedowns')).toMatch(
        /^3 open takedowns, oldest first\. The oldest has been open for (99|100) d/,
      );
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('#open-takedowns button').first().click(),
      ]);
      const lines = (await readFile(await download.path(), 'utf8')).split('\r\n');
      expect(lines[0]).toBe('Asset,Brand,Status,Filed,Open for (ms)');
      expect(lines[1]).toContain(`oldest.example,wallet,TODO,${daysAgo(100)},`);
      await page.getByText('Table of times to takedown').click();
      const [times] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('#takedowns details:nth-of-type(2) button').first().click(),
      ]);
      expect((await readFile(await times.path(), 'utf8')).split('\r\n')[0]).toBe(
        'Type,Completed,Median (ms),90 % (ms),99 % (ms),Longest (ms)',
      );
    });

    it('says that more takedowns are open than it reads, and reads no more than four pages', async () => {
      const { page, asked } = await dashboard.openFigures();
      asked.length = 0;
      await page.route('**/organization/takedowns?status=TODO*', (route) =>
        route.fulfill({
          headers: { 'x-as-of': daysAgo(0) },
          json: {
            items: Array.from({ length: 1_000 }, (_, n) => ({
              id: `n${n}`,
              asset: { type: 'URL', content: 'new.example' },
              status: 'TODO',
              createdAt: daysAgo(1),
              updatedAt: daysAgo(1),
            })),
            nextCursor: 'more',
          },
        }),
      );
      await page.clock.fastForward(REFRESH_MS);
      await page.getByText('More than 4,000 takedowns are open. These are the oldest of the newest 4,000.').waitFor();
      expect(await first(page, 'open-takedowns')).toHaveLength(10);
      expect(asked.filter(({ pathname }) => pathname.endsWith('/organization/takedowns'))).toHaveLength(5);
    });

    it('sorts a list by each column, in both directions, also with the keyboard', async () => {
      const { page } = await dashboard.openFigures();
      const sort = (name: string) => page.locator('#open-takedowns').getByRole('button', { name, exact: true });
      await sort('Asset').click();
      expect(await first(page, 'open-takedowns')).toEqual(['middle.example', 'oldest.example', 'waiting.example']);
      await page.keyboard.press('Enter');
      expect(await first(page, 'open-takedowns')).toEqual(['waiting.example', 'oldest.example', 'middle.example']);
      expect(await page.locator('#open-takedowns [aria-sort]').getAttribute('aria-sort')).toBe('descending');
      // Ages are compared as numbers, the longest first; dates as dates.
      await sort('Open for').click();
      expect(await first(page, 'open-takedowns')).toEqual(['oldest.example', 'middle.example', 'waiting.example']);
      await sort('Filed').click();
      await sort('Filed').click();
      expect(await first(page, 'open-takedowns')).toEqual(['waiting.example', 'middle.example', 'oldest.example']);
    });

    it('shows the brands side by side with the numbers of the range, each of which opens its records', async () => {
      const opened = await dashboard.openFigures('?range=30d');
      const { page } = opened;
      const [top] = await table(page, '#brands');
      expect(top).toEqual(['Wallet', '1', '1', '4', '2']);
      expect(await summary(page, 'brands')).toContain('2 brands in the last 30 days');
      await page.getByRole('button', { name: 'Takedowns completed of Wallet: 2. Show the records' }).click();
      await page.locator('#records-dialog[open] .summary').getByText('2 records.').waitFor();
      expect(lastAsked(opened, '/organization/takedowns')).toContain('brandSlug=wallet');
    });

    it('requests no more than 20 brands, and says so', async () => {
      const { page, asked } = await dashboard.openFigures();
      const brands = Array.from({ length: 21 }, (_, n) => ({ slug: `brand-${n}`, metricsAvailable: true }));
      await page.route('**/organization/brands', (route) => route.fulfill({ json: { brands } }));
      await page.route('**/organization/metrics?*brandSlug=brand-*', (route) =>
        route.fulfill({ json: { metrics: { newThreats: 0, reports: 0, takedownsFiled: 0, takedownsCompleted: 0 } } }),
      );
      asked.length = 0;
      await page.clock.fastForward(REFRESH_MS);
      await page.locator('#brands').getByText('The first 20 are shown; choose another one above.').waitFor();
      expect(await table(page, '#brands')).toHaveLength(20);
      expect(asked.filter(({ search }) => search.includes('brandSlug=brand-'))).toHaveLength(20);
      expect(await page.locator('#brand-choice option').count()).toBe(22);
    });

    it('begins a visit four hours after the last one, and shows what is new since', async () => {
      const opened = await dashboard.openFigures();
      const { page } = opened;
      const title = page.locator('#recent-title');
      const visitFrom = async (stored: string): Promise<void> => {
        await evaluate(page, `localStorage.setItem('${VISIT}', '${stored}')`);
        await page.reload();
        await settled(page);
      };
      await visitFrom('');
      expect(await title.textContent()).toBe('Since yesterday');
      const [seen, since] = [hoursAgo(5), hoursAgo(30)];
      await visitFrom(`${since} ${seen}`);
      expect(await title.textContent()).toBe('Since your last visit');
      expect(await summary(page, 'recent')).toContain(`Since ${spokenTime(seen)}`);
      // A reload within four hours belongs to the same visit.
      await page.reload();
      await settled(page);
      expect(await summary(page, 'recent')).toContain(`Since ${spokenTime(seen)}`);
      await visitFrom(`${since} ${hoursAgo(3)}`);
      expect(await summary(page, 'recent')).toContain(`Since ${spokenTime(since)}`);
      // The feature works with the text of another program, and with a clock that was wrong.
      for (const strange of ['nonsense', `${since}`, `x ${new Date(Date.now() + MS_PER_DAY).toISOString()}`]) {
        await visitFrom(strange);
        expect([strange, await page.locator('#problem').textContent()]).toEqual([strange, '']);
      }
    });

    it('shows every record that changed since the last visit, whatever its date', async () => {
      const opened = await dashboard.openFigures();
      const { page } = opened;
      const since = new Date().toISOString();
      await dashboard.record(takedown('middle', 'COMPLETED', 50, 0));
      await evaluate(page, `localStorage.setItem('${VISIT}', '${since} ${since}')`);
      await page.reload();
      await settled(page);
      await page.getByRole('button', { name: 'Show every record that changed since' }).click();
      await page.locator('#records-dialog[open] tbody').getByText('middle.example').waitFor();
      expect(lastAsked(opened, '/restatement/records')).toContain(`from=${encodeURIComponent(since)}`);
      await page.locator('#records-dialog .close').click();
      const json = { code: 'SERVICE_UNAVAILABLE', message: 'Counting this range takes too long' };
      await page.route('**/restatement/records*', (route) => route.fulfill({ status: 503, json }));
      await page.getByRole('button', { name: 'Show every record that changed since' }).click();
      await page
        .locator('#records-dialog [role=alert]')
        .getByText(`choose a short range, set “Totals as known on” to ${spokenTime(since)}, and select`)
        .waitFor();
      await page.locator('#records-dialog .close').click();
    });

    it('says what the check says now of a decided dispute, also if the list of disputes does not say it', async () => {
      const { page } = await dashboard.openFigures();
      const verdicts = async () =>
        new Map((await table(page, '#disputes')).map(([name, , verdict]) => [name, verdict]));
      const response = await fetch(`${dashboard.app.url}/v2/asset/check/bulk`, {
        method: 'POST',
        headers: { 'x-api-key': dashboard.key, 'content-type': 'application/json' },
        body: JSON.stringify({ contents: ['wrong.example', 'right.example'] }),
      });
      const { results } = (await response.json()) as { results: { status: string }[] };
      const words = results.map(({ status }) => status.slice(0, 1) + status.slice(1).toLowerCase());
      expect((await verdicts()).get('wrong.example')).toBe(words[0]);
      expect((await verdicts()).get('right.example')).toBe(words[1]);
    });

    it('checks no more than 20 disputes, and says that there are older ones', async () => {
      const { page, checked } = await withDisputes([]);
      await page.locator('#disputes').getByText('Older disputes are in the list “Disputes” above.').waitFor();
      expect(checked.map(({ length }) => length)).toEqual([20]);
      await settled(page);
      // The same disputes are not checked again.
      await page.clock.fastForward(REFRESH_MS);
      await settled(page);
      expect(checked).toHaveLength(1);
    });

    it('says of a decided dispute that a source did not answer, until the source answers', async () => {
      const silent = [{ source: 'slow', status: 'UNKNOWN', mode: 'ENABLED', reason: 'timeout' }];
      const { page, checked } = await withDisputes(silent);
      const row = page.locator('#disputes tbody tr').first();
      await row.getByText('Unknown; a source did not answer', { exact: true }).waitFor();
      await settled(page);
      silent.length = 0;
      await page.clock.fastForward(REFRESH_MS);
      await row.getByText('Unknown', { exact: true }).waitFor();
      expect(checked).toHaveLength(2);
    });

    it('writes each type and status in one spelling, in the choice of types too', async () => {
      const { page } = await dashboard.openFigures();
      const words = `import(document.querySelector('script[type=module]').src.replace('main.js', 'words.js'))
        .then(({ spoken }) => [...document.querySelectorAll('[name=assetType] option')].filter(({ value }) => value)
          .filter(({ value, text }) => text !== spoken(value)).map(({ value }) => value))`;
      expect(await evaluate(page, words)).toEqual([]);
      expect(await page.locator('#figures').textContent()).not.toMatch(/\b(TODO|BLOCKED|WATCHLISTED|TWITTER)\b/);
    });

    it('cuts nothing at 360 px', async () => {
      await dashboard.record(
        sent('ThreatStatusChanged', {
          organization: 'acme',
          threatId: 'long',
          asset: { type: 'URL', content: `${'a'.repeat(60)}.example/${'b'.repeat(200)}` },
          status: 'BLOCKED',
          createdAt: daysAgo(0),
          updatedAt: daysAgo(0),
        }),
      );
      const { page } = await dashboard.openFigures('', { viewport: { width: 360, height: 740 } });
      for (const each of await page.locator('summary').all()) if (await each.isVisible()) await each.click();
      const cut = `[...document.querySelectorAll('.scroll')].filter((each) => each.checkVisibility())
        .filter(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) => scrollWidth > clientWidth || scrollHeight > clientHeight)
        .map((each) => each.ariaLabel)`;
      expect(await evaluate(page, cut)).toEqual([]);
      await page.locator('#lists').getByRole('button', { name: 'Threats' }).click();
      await page.locator('#records-dialog[open] .summary').getByText('As of').waitFor();
      expect(await evaluate(page, cut)).toEqual([]);
      await page.locator('#records-dialog .close').click();
    });
  });
