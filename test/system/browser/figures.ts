import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/eventually.js';
import { dateDaysAgo, HOSTILE, MS_PER_DAY, threat } from './acme-events.js';
import { axeFindings } from './axe.js';
import {
  bars,
  dashboard,
  evaluate,
  labels,
  lastAsked,
  type Opened,
  settled,
  summary,
  table,
  totals,
} from './opened-dashboard.js';

const KEYS = ['newThreats', 'reports', 'threatsWatchlisted', 'takedownsFiled', 'takedownsCompleted'] as const;
const texts = (values: readonly number[]): string[] => values.map(String);

/** The page with figures, which the tests share until one of them reloads it. */
let openedPage: Opened;

export const figures = () =>
  describe('with metrics', () => {
    beforeAll(async () => {
      openedPage = await dashboard.openFigures();
      expect(await openedPage.page.locator('#problem').textContent()).toBe('');
    });

    it('shows the responses of the API in charts and tables, and sends no request to other hosts', async () => {
      const { page, errors, asked } = openedPage;
      const { current, difference } = await dashboard.get(
        `organization/metrics/comparison${lastAsked(openedPage, '/metrics/comparison')}`,
      );
      expect(lastAsked(openedPage, '/metrics/comparison')).toBe(`?startDate=${dateDaysAgo(29)}&with=previous`);
      expect(current.metrics).toMatchObject({ newThreats: 8, reports: 1, threatsWatchlisted: 1, takedownsFiled: 4 });
      expect(await totals(page)).toEqual(Object.fromEntries(KEYS.map((name) => [name, String(current.metrics[name])])));
      expect([difference.newThreats, difference.reports, difference.takedownsFiled]).toEqual([6, 0, 4]);

      const { points, interval } = await dashboard.get(
        `organization/metrics/timeline${lastAsked(openedPage, '/timeline')}`,
      );
      expect([interval, points.length]).toEqual(['day', 30]);
      const column = (name: string): number[] => points.map((point: Record<string, number>) => point[name]);
      expect(await bars(page, 'timeline')).toEqual(['newThreats', 'reports', 'threatsWatchlisted'].map(column));
      expect((await table(page, '#timeline')).map(([, ...cells]) => cells)).toEqual(
        points.map((point: Record<string, number>) => texts(KEYS.map((name) => point[name]!))),
      );

      const { blockedByType } = await dashboard.get(`organization/metrics?startDate=${dateDaysAgo(29)}`);
      expect(blockedByType).toEqual([
        { type: 'URL', count: 6 },
        { type: 'TWITTER', count: 2 },
      ]);
      expect([await labels(page, 'types'), await bars(page, 'types')]).toEqual([['URL', 'Twitter'], [[6, 2]]]);
      expect(await table(page, '#types')).toEqual([
        ['URL', '6'],
        ['Twitter', '2'],
      ]);

      const statistics = await dashboard.get(
        `organization/takedowns/statistics${lastAsked(openedPage, '/statistics')}`,
      );
      const { filed, completed, open: waiting, canceled, retracted, timeToTakedown } = statistics;
      const outcomes = [filed, completed, waiting, canceled, retracted];
      expect(outcomes).toEqual([4, 2, 1, 1, 0]);
      expect(await bars(page, 'takedowns')).toEqual([[4, 2, 1, 1, null]]);
      expect((await table(page, '#takedowns details:nth-of-type(1)')).map(([, n]) => n)).toEqual(texts(outcomes));
      expect(timeToTakedown).toMatchObject({ count: 2, median: MS_PER_DAY, longest: 7 * MS_PER_DAY });
      expect((await table(page, '#takedowns details:nth-of-type(2)'))[0]).toEqual([
        'All types',
        '2',
        '1 d',
        '7 d',
        '7 d',
        '7 d',
      ]);

      const falsePositives = await dashboard.get(
        `organization/metrics/false-positives${lastAsked(openedPage, '/false-positives')}`,
      );
      expect(falsePositives.totals).toEqual({ counted: 9, falsePositives: 1, rate: 1 / 9 });
      expect(await summary(page, 'false-positives')).toBe(
        'No longer blocked: 1 (11.1%) of the 9 threats first blocked in this range. ' +
          'Disputes filed: 3, of which 1 open; half of the decisions took at most 2 d.',
      );
      expect(await table(page, '#false-positives details:nth-of-type(1)')).toEqual([
        ['URL', '7', '1', '14.2%'],
        ['Twitter', '2', '0', '0%'],
      ]);
      expect((await table(page, '#false-positives details:nth-of-type(2)')).map(([, n]) => n)).toEqual(
        texts([3, 1, 1, 1]),
      );

      expect(errors).toEqual([]);
      expect([...new Set(asked.map(({ origin }) => origin))]).toEqual([dashboard.app.url]);
    });

    it('has a text alternative for each chart', async () => {
      const { page } = openedPage;
      for (const [name, words] of [
        ['Over time. New threats', '8 in total, at most 3 per day'],
        ['Over time. Reports', '1 in total'],
        ['Over time. Watchlisted', '1 in total'],
        ['Blocked threats by type', '6 of 8 (75%) are of type URL'],
        ['Takedowns by outcome', 'Completed so far: 2 (50%)'],
      ] as const)
        expect(await page.getByRole('img', { name }).getAttribute('aria-label')).toContain(words);
    });

    it('shows the newest records since yesterday, each with a link, and the trend of each total', async () => {
      const { page } = openedPage;
      const newest = await table(page, '#recent');
      expect(newest.map(([name, kind, status]) => [name, kind, status])).toEqual(
        expect.arrayContaining([
          ['url-0.example', 'Threat', 'Blocked'],
          ['undecided.example', 'Dispute', 'Open'],
        ]),
      );
      expect(newest).toHaveLength(4);
      expect(await summary(page, 'recent')).toContain('3 new threats, 0 reports, 0 filed takedowns.');
      expect(await page.locator('#recent').getByRole('link', { name: 'url-0.example' }).getAttribute('href')).toBe(
        '#/threats=url-0',
      );
      const { points } = await dashboard.get(`organization/metrics/timeline${lastAsked(openedPage, '/timeline')}`);
      expect(await bars(page, 'totals')).toEqual(
        KEYS.map((name) => points.map((point: Record<string, number>) => point[name])),
      );
    });

    it('writes small shares and single things as people do', async () => {
      const words = `import(document.querySelector('script[type=module]').src.replace('main.js', 'words.js'))
        .then(({ share, counted }) => [share(0), share(0.0004), share(0.001), counted(1, 'takedown'), counted(2, 'takedown')])`;
      expect(await evaluate(openedPage.page, words)).toEqual(['0%', '<0.1%', '0.1%', '1 takedown', '2 takedowns']);
    });

    it('leaves out its controls on paper', async () => {
      const { page } = openedPage;
      const shown = async (): Promise<boolean[]> =>
        Promise.all(
          ['#totals', '#timeline', '#check', '#filters', '#lists'].map((each) => page.locator(each).isVisible()),
        );
      await page.emulateMedia({ media: 'print' });
      expect(await shown()).toEqual([true, true, false, false, false]);
      await page.emulateMedia({ media: null });
      expect(await shown()).toEqual([true, true, true, true, true]);
    });

    it('escapes names in the page, and saves no formulas in CSV', async () => {
      const { page, errors } = openedPage;
      expect(await table(page, '#groups')).toEqual([
        [HOSTILE, '2'],
        ['=1+1', '0'],
      ]);
      expect(await table(page, '#webhooks')).toEqual([[HOSTILE, 'Disabled', '0', '–', '–', '–']]);
      expect(await page.locator('#webhooks .summary').textContent()).toBe('1 webhook, 1 failing or disabled.');
      expect(await page.locator('#brand-choice option').allTextContents()).toEqual([
        'Whole organization',
        HOSTILE,
        'Wallet',
      ]);
      expect(await saved(page, '#groups')).toBe(`Group,Assets\r\n"${HOSTILE.replaceAll('"', '""')}",2\r\n'=1+1,0\r\n`);
      expect([await page.title(), errors]).toEqual(['Dashboard · Threat protection', []]);
    });

    const saved = async (page: Page, panel: string): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator(`${panel} button`).first().click(),
      ]);
      return readFile(await download.path(), 'utf8');
    };

    it('saves the CSV timeline of the API unchanged', async () => {
      await openedPage.page.getByText('Table of metrics over time').click();
      const text = await saved(openedPage.page, '#timeline');
      const response = await fetch(
        `${dashboard.app.url}/v2/organization/metrics/timeline${lastAsked(openedPage, '/timeline')}`,
        {
          headers: { 'x-api-key': dashboard.key, accept: 'text/csv' },
        },
      );
      // The last line ends at the time of the request.
      const lines = (csv: string): string[] => csv.split('\r\n').slice(0, -2);
      expect(lines(text)).toEqual(lines(await response.text()));
      expect(lines(text)).toHaveLength(30);
    });

    it('checks an asset and shows the result of each source', async () => {
      const { page } = openedPage;
      await page.locator('#content').fill('https://evil.example/login');
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.locator('.verdict .status.blocked').waitFor();
      expect(await page.locator('.verdict p').textContent()).toContain('"https://evil.example/login" is blocked');
      expect((await table(page, '#check'))[0]!.slice(1)).toEqual([
        '✕ Blocked',
        'The asset is on its blocklist',
        'evil.example',
      ]);
    });

    it('distinguishes a rise from a fall by arrow, sign and color, and in a text for screen readers', async () => {
      const changeOf = async ({ page }: Opened) => {
        const changes = page.locator('#totals .change [aria-hidden]');
        return {
          signs: await changes.allTextContents(),
          colour: await evaluate(
            page,
            `getComputedStyle(document.querySelector('#totals .change [aria-hidden]')).color`,
          ),
          aloud: await page.locator('#totals dl').ariaSnapshot(),
        };
      };
      const rise = await changeOf(openedPage);
      const dates = `startDate=${dateDaysAgo(30)}&endDate=${dateDaysAgo(12)}`;
      const fall = await changeOf(await dashboard.openFigures(`?range=custom&${dates}`));
      expect(rise.signs).toEqual([
        '▲ +6 (+300%)',
        '▲ +1 (no earlier data)',
        '▲ +4 (no earlier data)',
        '▲ +2 (no earlier data)',
      ]);
      expect(fall.signs).toEqual(['▼ −1 (−50%)', '▼ −1 (−100%)']);
      expect(rise.colour).not.toBe(fall.colour);
      for (const words of ['up by 6, 300% more', 'no change', 'up by 4, no earlier data'])
        expect(rise.aloud).toContain(words);
      expect(fall.aloud).toContain('down by 1, 50% less');
      expect(rise.aloud + fall.aloud).not.toMatch(/[▲▼]/);
    });

    it('has no axe-core finding with either color scheme', async () => {
      const { page } = await dashboard.openFigures();
      await page.locator('#content').fill('evil.example');
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.locator('.verdict .status.blocked').waitFor();
      for (const summary of await page.locator('summary').all()) await summary.click();
      expect(await axeFindings(page)).toEqual({ light: [], dark: [] });
      await page.getByRole('button', { name: 'Sign out' }).click();
      expect(await axeFindings(page)).toEqual({ light: [], dark: [] });
    });
  });

export const refreshes = () =>
  it('refreshes every 30 s while it is visible, and keeps showing the previous data meanwhile', async () => {
    const opened = await dashboard.openFigures();
    const { page, asked, answers } = opened;
    const before = Number((await totals(page))['newThreats']);
    await dashboard.record(threat(`live-${before}`, 'URL', 1));
    await page.clock.fastForward(31_000);
    await page
      .locator('[data-metric=newThreats] .figure')
      .getByText(String(before + 1), { exact: true })
      .waitFor();
    await settled(page);
    expect((await bars(page, 'types'))[0]![0]).toBe(before + 1 - 2);

    answers.length = 0;
    const OPTION = `document.querySelector('#brand-choice option')`;
    await evaluate(page, `${OPTION}.isOfBefore = true`);
    await page.clock.fastForward(31_000);
    await eventually('the next responses arrive', () => answers.length > 0);
    await settled(page);
    // Nothing was recorded meanwhile, so no response that the page can keep is sent again.
    const kept = answers.filter((response) => response.headers()['etag'] !== undefined);
    expect(kept.map((response) => new URL(response.url()).pathname)).toContain('/v2/organization/metrics/timeline');
    expect(kept.filter((response) => response.status() !== 304).map((response) => response.url())).toEqual([]);
    // The list of brands has no ETag. A list that somebody has opened must not be replaced.
    expect(await evaluate(page, `${OPTION}.isOfBefore`)).toBe(true);

    const see = (state: string): Promise<unknown> =>
      evaluate(
        page,
        `Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
         document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await see('hidden');
    asked.length = 0;
    await page.clock.fastForward(300_000);
    expect(asked).toEqual([]);
    await see('visible');
    await eventually('the page sends its requests at once', () => asked.length > 0);
  });

export const tokens = () =>
  describe('with consistency tokens', () => {
    const TOKEN = 'consistency-token';
    const STATISTICS = '**/takedowns/statistics*';

    it('sends the token of each response with the next read of the same metrics', async () => {
      const { page } = await dashboard.openFigures();
      const [sentTokens, receivedTokens]: [(string | undefined)[], string[]] = [[], []];
      await page.route(STATISTICS, async (route) => {
        sentTokens.push(route.request().headers()[TOKEN]);
        const response = await route.fetch();
        receivedTokens.push(response.headers()[TOKEN]!);
        await route.fulfill({ response });
      });
      for (let reads = 1; reads <= 3; reads += 1) {
        await page.clock.fastForward(31_000);
        await eventually('the page reads the metrics again', () => receivedTokens.length === reads);
        await settled(page);
      }
      expect(sentTokens[0]).toMatch(/^[\w-]{8}\.[\w-]{22}$/);
      expect(sentTokens.slice(1)).toEqual(receivedTokens.slice(0, -1));
    });

    it('discards the tokens after a 410, and reads again without them', async () => {
      const { page } = await dashboard.openFigures();
      const hadToken: boolean[] = [];
      await page.route(STATISTICS, (route) => {
        const hasToken = route.request().headers()[TOKEN] !== undefined;
        hadToken.push(hasToken);
        return hasToken
          ? route.fulfill({
              status: 410,
              json: {
                code: 'GONE',
                message:
                  'Consistency-Token is from another log, or from a state that was lost; repeat the request without Consistency-Token',
              },
            })
          : route.continue();
      });
      await page.clock.fastForward(31_000);
      await eventually('the page reads the metrics again', () => hadToken.length === 2);
      await settled(page);
      expect(hadToken).toEqual([true, false]);
      expect(await page.locator('#problem').textContent()).toBe('');
      expect(await page.locator('#takedowns .summary').textContent()).not.toBe('Not available.');
    });
  });
