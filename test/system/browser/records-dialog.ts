import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { sent } from '../../support/upstream.js';
import { daysAgo, HOSTILE, threat } from './acme-events.js';
import { axeFindings } from './axe.js';
import { dashboard, evaluate, lastAsked, settled, spokenTime, table } from './opened-dashboard.js';

const DIALOG = '#records-dialog[open]';

/** Waits until the list has been loaded. */
const listed = (page: Page): Promise<void> => page.locator(`${DIALOG} .summary`).getByText('As of').waitFor();
const summaryOf = (page: Page): Promise<string | null> => page.locator(`${DIALOG} .summary`).textContent();
const column = async (page: Page, n: number): Promise<string[]> =>
  (await table(page, '#records-dialog')).map((cells) => cells[n]!);
const figure = (page: Page, metric: string) => page.locator(`[data-metric=${metric}] .figure button`);
const clickAndWait = async (page: Page, selector: string): Promise<void> => {
  await page.locator(selector).click();
  await listed(page);
};
/** Clicks on the centre of a bar, which is not an element of its own. */
const pressBar = async (page: Page, canvas: string, index: number): Promise<void> => {
  const { x, y } = await evaluate<{ x: number; y: number }>(
    page,
    `(() => { const { x, y } = Chart.getChart(document.querySelector('${canvas}')).getDatasetMeta(0).data[${index}]
      .getCenterPoint(); return { x, y }; })()`,
  );
  await page.locator(canvas).click({ position: { x, y } });
  await listed(page);
};

export const recordsDialog = () =>
  describe('with the records behind a number', () => {
    beforeAll(async () => {
      const asset = { type: 'URL', content: HOSTILE };
      const times = { createdAt: daysAgo(1), updatedAt: daysAgo(1) };
      const hostile = { organization: 'acme', threatId: 'hostile', asset, status: 'APPROVED', ...times };
      await dashboard.record(sent('ThreatStatusChanged', hostile));
    });

    it('lists as many records as the number says', async () => {
      const opened = await dashboard.openFigures();
      const { page, errors } = opened;
      for (const [metric, ids] of [
        ['newThreats', ['hostile', 'url-0', 'url-1', 'url-2', 'x-0', 'url-3', 'url-4', 'x-1', 'url-5']],
        ['threatsWatchlisted', ['watched']],
        ['takedownsFiled', ['waiting', 'quick', 'given-up', 'slow']],
        ['takedownsCompleted', ['quick', 'slow']],
      ] as const) {
        expect(await figure(page, metric).textContent()).toBe(String(ids.length));
        await figure(page, metric).click();
        await listed(page);
        const cells = await table(page, '#records-dialog');
        expect([metric, cells.map((row) => row.at(-1))]).toEqual([metric, ids]);
        await page.keyboard.press('Escape');
      }
      await figure(page, 'reports').click();
      await listed(page);
      expect(await table(page, '#records-dialog')).toEqual([
        ['now', 'wallet', ...Array<string>(2).fill(spokenTime(daysAgo(2)))],
      ]);
      expect(await summaryOf(page)).toMatch(/^1 record\. Range: the last 30 days\. As of /);
      expect(errors).toEqual([]);
    });

    it('lists the records of the day, type or outcome of a clicked bar', async () => {
      const { page } = await dashboard.openFigures();
      await pressBar(page, '[data-series=newThreats] canvas', 21);
      expect(await column(page, 0)).toEqual(['url-4.example']);
      await page.locator(`${DIALOG} .close`).click();
      await pressBar(page, '#types canvas', 1);
      expect(await column(page, 1)).toEqual(['Twitter', 'Twitter']);
      expect(await page.locator(`${DIALOG} [name=assetType]`).inputValue()).toBe('TWITTER');
      await page.locator(`${DIALOG} .close`).click();
      await pressBar(page, '#takedowns canvas', 2);
      expect(await column(page, 2)).toEqual(['To do']);
    });

    it('opens the list with the keyboard from every number, and returns the focus to the number', async () => {
      const { page } = await dashboard.openFigures();
      await page.locator('#timeline summary').focus();
      await page.keyboard.press('Enter');
      const count = page.locator('#timeline tbody button').first();
      expect(await count.getAttribute('aria-label')).toMatch(/^New threats, .+: 1\. Show the records$/);
      await count.focus();
      await page.keyboard.press('Enter');
      await listed(page);
      expect(await column(page, 0)).toEqual(['url-5.example']);
      for (let n = 0; n < 8; n += 1) {
        expect(await evaluate(page, `document.querySelector('#records-dialog').contains(document.activeElement)`)).toBe(
          true,
        );
        if (await evaluate(page, `document.activeElement.classList.contains('csv')`)) break;
        await page.keyboard.press('Tab');
      }
      expect(await evaluate(page, `document.activeElement.textContent`)).toBe('Save as CSV');
      await page.keyboard.press('Escape');
      expect(await count.evaluate((each) => each === each.ownerDocument.activeElement)).toBe(true);
      expect(await page.locator('#records-dialog [role=status]').textContent()).toContain('1 record.');
    });

    it('searches the list by an asset or a part of it, and filters it by type and status', async () => {
      const { page } = await dashboard.openFigures();
      await clickAndWait(page, '[data-metric=newThreats] .figure button');
      const filter = async (name: string, value: string): Promise<void> => {
        await page.locator(`${DIALOG} [name=${name}]`).fill(value);
        await page.locator(DIALOG).getByRole('button', { name: 'Search' }).click();
      };
      const finds = (words: string) => page.locator(`${DIALOG} .summary`).getByText(words).waitFor();
      const shows = (n: number) => page.locator(`${DIALOG} .summary`).getByText(`${n} record`).waitFor();
      await filter('content', 'hxxps://url-3[.]example');
      await finds('1 found in all 9 records.');
      expect(await column(page, 5)).toEqual(['url-3']);
      await filter('content', 'URL-');
      await finds('6 found in all 9 records.');
      await filter('content', '');
      await shows(9);
      const type = page.locator(`${DIALOG} [name=assetType]`);
      expect(await type.locator('option').allTextContents()).toEqual(expect.arrayContaining(['All types', 'Address']));
      await type.selectOption('TWITTER');
      await shows(2);
      await type.selectOption('');
      await page.locator(`${DIALOG} [name=status]`).selectOption('APPROVED');
      await shows(1);
      expect(await column(page, 0)).toEqual([HOSTILE]);
      await filter('content', '¯_(ツ)_/¯');
      await finds('0 found in all 1 record.');
      expect(await page.locator(`${DIALOG} table`).isVisible()).toBe(false);
    });

    it('lists for a brand the verdicts that name it', async () => {
      const opened = await dashboard.openFigures();
      const { page } = opened;
      await page.locator('#brand-choice select').selectOption('wallet');
      await settled(page);
      await page.locator('#totals .summary').getByText('for this brand').waitFor();
      await clickAndWait(page, '[data-metric=newThreats] .figure button');
      expect(await table(page, '#records-dialog')).toMatchObject([
        ['evil.example', 'URL', 'Blocked', 'wallet', {}, 'c1'],
      ]);
      expect(lastAsked(opened, '/verdicts')).toContain('brandSlug=wallet');
      expect(await page.locator('[data-metric=threatsWatchlisted] .figure button').count()).toBe(0);
    });

    it('lists the disputes of an outcome', async () => {
      const opened = await dashboard.openFigures();
      const { page } = opened;
      await page.getByText('Table of disputes by outcome').click();
      const ofOutcome = (name: string) => page.getByRole('button', { name: `${name}. Show the records` });
      await ofOutcome('Rejected: 1').click();
      await listed(page);
      expect(await column(page, 0)).toEqual(['right.example']);
      expect(lastAsked(opened, '/v2/asset/disputes')).toContain('status=REJECTED');
      await page.locator(`${DIALOG} .close`).click();
      await ofOutcome('Filed: 3').click();
      await listed(page);
      expect(await column(page, 2)).toEqual(['Open', 'Rejected', 'Accepted']);
    });

    it('loads the whole list, says its total, and saves the CSV of the API unchanged', async () => {
      await dashboard.record(...Array.from({ length: 130 }, (_, n) => threat(`many-${n}`, 'EMAIL', 300)));
      const opened = await dashboard.openFigures('?range=all');
      const { page } = opened;
      await clickAndWait(page, '[data-metric=newThreats] .figure button');
      expect(await summaryOf(page)).toMatch(/^142 records\. /);
      const ids = await column(page, 5);
      expect([ids.length, new Set(ids).size]).toEqual([142, 142]);
      const [download] = await Promise.all([page.waitForEvent('download'), page.locator(`${DIALOG} .csv`).click()]);
      const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
      expect(lines[0]).toBe('id,asset.type,asset.content,status,createdAt,updatedAt');
      expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(ids);
    });

    it('finds a whole asset in all records, beyond the newest that are searched by a part', async () => {
      const { page } = await dashboard.openFigures('?range=all');
      // Pretends that the newest 4,000 records are followed by more, without the asset that is searched.
      await page.route(/threats\?(?!.*content=)/, (route) =>
        route.fulfill({
          json: {
            items: Array.from({ length: 1_000 }, (_, n) => ({
              id: `n${n}`,
              asset: { type: 'URL', content: 'new.example' },
              status: 'BLOCKED',
              createdAt: daysAgo(1),
              updatedAt: daysAgo(1),
            })),
            nextCursor: 'more',
          },
          headers: { 'x-as-of': daysAgo(0) },
        }),
      );
      await page.locator('#lists').getByRole('button', { name: 'Threats' }).click();
      await listed(page);
      await page.locator(`${DIALOG} [name=content]`).fill('url-3.example');
      await page.keyboard.press('Enter');
      await page
        .locator(`${DIALOG} .summary`)
        .getByText('1 found in the newest 4,000 records. Older records are found only by their whole asset.')
        .waitFor();
      expect(await column(page, 5)).toEqual(['url-3']);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
    });

    it('opens a record from its link with the verdict and the history, and closes it with the address', async () => {
      const { page, errors } = await dashboard.openFigures('?range=all');
      await page.locator('#lists').getByRole('button', { name: 'Takedowns' }).click();
      await listed(page);
      await page.locator(DIALOG).getByRole('link', { name: 'slow.example' }).click();
      await page.locator('#record-dialog').getByRole('heading', { name: 'Present verdict' }).waitFor();
      expect(await page.locator('#record-dialog .fields-of-record').textContent()).toContain('StatusCompleted');
      expect(page.url()).toMatch(/\?range=all#\/takedowns=slow$/);
      await page.keyboard.press('Escape');
      await page.locator('#record-dialog').waitFor({ state: 'hidden' });
      await page.waitForURL(/\?range=all$/); // The page changes its address after the dialog is hidden.
      expect(await page.locator(DIALOG).isVisible()).toBe(true);
      await evaluate(page, `location.hash = '#/asset=evil.example'`);
      await page.locator('#record-dialog').getByText('Present verdict').waitFor();
      expect(await table(page, '#record-dialog section:nth-of-type(2)')).toEqual([
        [expect.stringContaining('UTC'), 'Blocked', 'evil.example', 'wallet'],
      ]);
      await evaluate(page, `location.hash = '#/threats=nothing'`);
      await page.locator('#record-dialog [role=alert]:not(:empty)').waitFor();
      expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
      await page.locator('#record-dialog .close').click();
    });

    it('shows the assets of a group, and the attempts of a webhook, which it can test', async () => {
      const { page } = await dashboard.openFigures();
      await page.locator('#groups').getByRole('link', { name: HOSTILE }).click();
      await page.locator('#record-dialog').getByRole('link', { name: 'a.example' }).waitFor();
      await page.locator('#record-dialog .close').click();
      await page.locator('#webhooks').getByRole('link', { name: HOSTILE }).click();
      await page.locator('#record-dialog').getByText('Nothing has been sent yet.').waitFor();
      await page.route('**/webhooks/wh_1/test', (route) => route.fulfill({ json: { ms: 7, error: 'refused' } }));
      await page.locator('#record-dialog').getByRole('button', { name: 'Send a test' }).click();
      await page.locator('#record-dialog').getByText('The test failed: refused.').waitFor();
      await page.locator('#record-dialog .close').click();
    });

    it('files a dispute from a blocked verdict, and lists it first', async () => {
      const { page } = await dashboard.openFigures();
      await page.locator('#content').fill('evil.example');
      await page.getByRole('button', { name: 'Check', exact: true }).click();
      await page.locator('.status.blocked').first().waitFor();
      await page.getByText('Dispute this verdict').click();
      await page.locator('[name=reason]').fill('This is our own page.');
      await page.getByRole('button', { name: 'File the dispute' }).click();
      await page.getByRole('link', { name: 'Show the dispute' }).waitFor();
      await page.locator('#disputes tbody').getByRole('link', { name: 'evil.example' }).waitFor();
      expect((await table(page, '#disputes'))[0]!.slice(0, 4)).toEqual([
        'evil.example',
        'Open',
        'No change known',
        'This is our own page.',
      ]);
      await page.getByRole('button', { name: 'File the dispute' }).click();
      await page.locator('.dispute [role=status]').getByText('open dispute').waitFor();
    });

    it('has no axe-core finding, and fits every screen, with either color scheme', async () => {
      const { page } = await dashboard.openFigures();
      await clickAndWait(page, '[data-metric=newThreats] .figure button');
      expect(await axeFindings(page)).toEqual({ light: [], dark: [] });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const width of [360, 1280, 2560]) {
          await page.setViewportSize({ width, height: 900 });
          const { left, right } = await evaluate<{ left: number; right: number }>(
            page,
            `(() => { const { left, right } = document.querySelector('#records-dialog').getBoundingClientRect(); return { left, right }; })()`,
          );
          expect([width, left >= 0, right <= width]).toEqual([width, true, true]);
          if (process.env['PICTURES'])
            await page.screenshot({ path: `${process.env['PICTURES']}/which-${colorScheme}-${width}.png` });
        }
      }
    });
  });
