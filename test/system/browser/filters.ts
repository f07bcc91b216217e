import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/eventually.js';
import { sent } from '../../support/upstream.js';
import { dateDaysAgo, daysAgo, threat } from './acme-events.js';
import {
  bars,
  choose,
  dashboard,
  evaluate,
  labels,
  lastAsked,
  type Opened,
  settled,
  spokenTime,
  summary,
  table,
  totals,
} from './opened-dashboard.js';

export const filters = () =>
  describe('with its filters', () => {
    it('requests the chosen range, brand and days', async () => {
      const opened = await dashboard.openFigures();
      const { page } = opened;
      for (const [name, query] of [
        ['7 days', `?startDate=${dateDaysAgo(6)}&interval=day`],
        ['90 days', `?startDate=${dateDaysAgo(89)}&interval=day`],
        ['All time', '?interval=week'],
      ] as const) {
        await choose(opened, name);
        expect([name, lastAsked(opened, '/timeline')]).toEqual([name, query]);
      }
      expect((await totals(page))['newThreats']).toBe('11');
      expect((await bars(page, 'timeline'))[0]!.reduce((sum, n) => sum + n)).toBe(11);
      await choose(opened, '12 months');
      expect(lastAsked(opened, '/timeline')).toMatch(/interval=week$/);

      await page.getByRole('combobox', { name: 'Brand' }).selectOption('wallet');
      await settled(page);
      expect(lastAsked(opened, '/timeline')).toMatch(/brandSlug=wallet/);
      expect((await totals(page))['newThreats']).toBe('1');
      await page.getByRole('combobox', { name: 'Brand' }).selectOption('');

      await choose(opened, 'Custom range');
      await page.getByLabel('First day').fill(dateDaysAgo(2));
      await page.getByLabel('Last day').fill(dateDaysAgo(3));
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      expect(await evaluate(page, `document.querySelector('[name=endDate]').validationMessage`)).toContain('before');
      await page.getByLabel('Last day').fill(dateDaysAgo(1));
      await page.getByRole('button', { name: 'Show', exact: true }).click();
      await settled(page);
      expect(lastAsked(opened, '/timeline')).toBe(
        `?startDate=${dateDaysAgo(2)}&endDate=${dateDaysAgo(1)}&interval=day`,
      );
      expect((await bars(page, 'timeline'))[0]).toEqual([1, 3]);
      // The selection is in the URL, so that a reload shows the same figures.
      await page.reload();
      await settled(page);
      expect((await bars(page, 'timeline'))[0]).toEqual([1, 3]);
    });

    it('can be used with the keyboard only', async () => {
      const { page } = await dashboard.openFigures();
      // After a reload, the focus is at the top of the page.
      await page.reload();
      await settled(page);
      const reached: string[] = [];
      const links = (n: number): unknown[] => Array<unknown>(n).fill(expect.stringMatching(/^A ./));
      const numbers = (n: number): unknown[] => Array<unknown>(n).fill(expect.stringMatching(/^BUTTON \d+$/));
      const sorts = (...columns: readonly string[]): string[] => columns.map((column) => `BUTTON ${column}`);
      for (let n = 0; n < 120; n++) {
        await page.keyboard.press('Tab');
        const focused = await evaluate<string>(
          page,
          `(({ tagName, id, name, textContent }) => [tagName, id || name || textContent.trim()].join(' '))(document.activeElement)`,
        );
        if (focused.startsWith('BODY') || focused === reached[0]) break;
        reached.push(focused);
      }
      expect(reached).toEqual([
        'A Skip to the figures',
        'BUTTON sign-out',
        'BUTTON Threats',
        'BUTTON Takedowns',
        'BUTTON Reports',
        'BUTTON Disputes',
        expect.stringMatching(/^DIV Asset or id/),
        ...sorts('Asset or id', 'Kind', 'Status', 'Created'),
        ...links(4),
        'BUTTON Save as CSV',
        expect.stringMatching(/^DIV Asset/),
        ...links(1),
        'INPUT range',
        'SELECT brandSlug',
        // The parts of the date and the time, and the calendar.
        ...Array<unknown>(8).fill('INPUT knownAt'),
        'BUTTON Compare with now',
        ...numbers(5),
        'INPUT content',
        'BUTTON Check',
        'SUMMARY Table of metrics over time',
        'BUTTON Save as CSV',
        expect.stringMatching(/^DIV Brand/),
        ...sorts('Brand', 'New threats', 'Reports', 'Takedowns filed', 'Takedowns completed'),
        ...numbers(4),
        'SUMMARY Table of blocked threats by type',
        'SUMMARY Table of takedowns by outcome',
        'SUMMARY Table of times to takedown',
        'BUTTON rejected',
        'SUMMARY Table of false positives by type',
        'SUMMARY Table of disputes by outcome',
        expect.stringMatching(/^DIV Asset/),
        ...sorts('Asset', 'State', 'Verdict now', 'Reason', 'Note', 'Filed', 'Changed'),
        ...links(3),
        'BUTTON Save as CSV',
        expect.stringMatching(/^DIV Group/),
        ...sorts('Group', 'Assets'),
        ...links(2),
        'BUTTON Save as CSV',
        expect.stringMatching(/^DIV Webhook/),
        ...links(1),
        'A API reference',
      ]);
      await page.locator('[name=range]:checked').focus();
      await page.keyboard.press('ArrowLeft');
      await page
        .locator('#announcement')
        .getByText('Figures of the last 7 days are shown')
        .waitFor({ state: 'attached' });
    });

    it('has the brand in its URL until the user signs out', async () => {
      const opened = await dashboard.openFigures('?range=30d');
      const { page } = opened;
      await page.getByRole('combobox', { name: 'Brand' }).selectOption('wallet');
      await settled(page);
      expect(page.url()).toContain('?range=30d&brandSlug=wallet');
      await page.reload();
      await settled(page);
      expect(lastAsked(opened, '/statistics')).toContain('brandSlug=wallet');
      expect([
        await page.getByRole('combobox', { name: 'Brand' }).inputValue(),
        (await totals(page))['newThreats'],
      ]).toEqual(['wallet', '1']);
      await page.getByRole('button', { name: 'Sign out' }).click();
      expect(page.url()).toMatch(/\?range=30d$/);
    });

    it('keeps the brand of the URL during the sign-in, and drops a brand that the organization does not have', async () => {
      const { page } = await dashboard.openWithKey(dashboard.key, '?range=all&brandSlug=wallet');
      expect((await totals(page))['newThreats']).toBe('1');
      const { page: other } = await dashboard.openFigures('?range=all&brandSlug=unknown');
      await other.locator('#totals').getByText('Everything counted so far.', { exact: true }).waitFor();
      expect([(await totals(other))['newThreats'], new URL(other.url()).search]).toEqual(['11', '?range=all']);
      expect(await other.locator('#problem').textContent()).toBe('');
    });

    it('shows the newest data if the range has no data, and offers it if somebody has chosen the range', async () => {
      const past = { organization: 'past', reportId: 'r', brands: [] };
      await dashboard.record(sent('ReportFiled', { ...past, createdAt: daysAgo(400), updatedAt: daysAgo(400) }));
      const key = await dashboard.app.issueKey({ organization: 'past', scopes: ['read'] });
      const opened = await dashboard.openWithKey(key);
      const { page } = opened;
      const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });
      const dateText = (days: number): string => date.format(new Date(daysAgo(days)));
      const days = (first: number, last: number): string =>
        date.formatRange(new Date(daysAgo(first)), new Date(daysAgo(last)));
      // Nobody has chosen a range, so the page shows the newest days, and its address stays as it is.
      await page.getByText('Newer days have no data, so the newest days with data are shown.').waitFor();
      await settled(page);
      expect([(await totals(page))['reports'], new URL(page.url()).search]).toEqual(['1', '']);
      await choose(opened, '7 days');
      await page.getByRole('link', { name: `Show ${days(406, 400)}` }).waitFor();
      expect([(await totals(page))['reports'], new URL(page.url()).search]).toEqual(['0', '?range=7d']);
      await choose(opened, '30 days');
      await page.getByText(`The newest data is from ${dateText(400)}.`).waitFor();
      await page.getByRole('link', { name: `Show ${days(429, 400)}` }).click();
      await page.waitForURL(/custom/);
      await settled(page);
      expect(await page.locator('#newest').isVisible()).toBe(false);
      expect(new URL(page.url()).search).toBe(
        `?range=custom&startDate=${dateDaysAgo(429)}&endDate=${dateDaysAgo(400)}`,
      );
      // The charts do not show series without a count.
      expect(await bars(page, 'timeline')).toEqual([[...Array<number>(29).fill(0), 1]]);
      expect([await bars(page, 'types'), await bars(page, 'takedowns')]).toEqual([[], []]);
    });

    it('explains which takedowns each of the two numbers of completed takedowns includes', async () => {
      const opened = await dashboard.openFigures('?range=7d');
      const { page } = opened;
      const note = page.locator('[data-metric=takedownsCompleted] .note');
      expect(await summary(page, 'takedowns')).toBe(
        'Completed so far: 1 (33.3%) of the 3 takedowns filed in this range. Completed in this range, including ' +
          'takedowns filed earlier: 2; half of them took at most 1 d, nine in ten at most 7 d.',
      );
      expect(await note.textContent()).toBe('of the takedowns filed in this range');
      await page.getByRole('combobox', { name: 'Brand' }).selectOption('wallet');
      await settled(page);
      expect(await summary(page, 'takedowns')).toMatch(
        /^Completed so far: 2 \(50%\) of the 4 takedowns last changed in this range\./,
      );
      expect(await note.textContent()).toBe('last changed in this range');
    });

    it('labels a week with its first and last day', async () => {
      const { page } = await dashboard.openFigures('?range=12m');
      const [first, ...weeks] = await labels(page, 'timeline');
      const isDays = /^\d{1,2}( \w+( \d{4})?)? – \d{1,2} \w+ \d{4}$/u;
      for (const week of weeks.slice(0, -1)) expect(week).toMatch(isDays);
      // The first and the last week may have only one day.
      for (const edge of [first, weeks.at(-1)]) expect(edge).toMatch(/\d{1,2} \w+ \d{4}$/);
    });

    it('shows zeros and a message for an organization without events', async () => {
      const empty = await dashboard.app.issueKey({ organization: 'empty', scopes: ['read'] });
      const opened = await dashboard.openWithKey(empty);
      const { page, errors } = opened;
      for (const range of ['the last 30 days', 'all time']) {
        if (range === 'all time') await choose(opened, 'All time');
        await page
          .locator('#totals')
          .getByText(`Nothing has been counted for your organization in ${range}.`)
          .waitFor();
        expect(new Set(Object.values(await totals(page)))).toEqual(new Set(['0']));
        // Empty charts, tables of zeros and the offer of newer data are hidden.
        for (const hidden of ['canvas', 'details', '#newest'])
          expect([hidden, await page.locator(`#figures ${hidden}:visible`).count()]).toEqual([hidden, 0]);
      }
      expect(await page.locator('#groups .summary').textContent()).toMatch(
        /^There are no asset groups yet\. .+ created/,
      );
      expect(await page.locator('#disputes .summary').textContent()).toContain('select “Dispute this verdict”');
      expect(await summary(page, 'recent')).toContain('no new threats, takedowns, disputes or reports.');
      expect(await page.locator('#brand-choice').isVisible()).toBe(false);
      expect(errors).toEqual([]);
    });
  });

/** Runs last, because it records events. */
export const knownAt = () =>
  describe('with the totals as known on a date-time', () => {
    /** A whole second after which the records change, as the field has it. */
    let then: string;
    const field = (page: Page) => page.getByLabel('Totals as known on (UTC)');
    const cards = async (page: Page): Promise<Record<string, string[]>> =>
      evaluate(
        page,
        `Object.fromEntries([...document.querySelectorAll('#totals dl > div')].map((each) => [each.dataset.metric,
          ['.figure', '.change [aria-hidden], .change.quiet', '.change .unseen', '.note:last-child']
            .map((part) => each.querySelector(part)?.textContent ?? '')]))`,
      );
    const compare = async ({ page }: Opened, instant: string): Promise<void> => {
      await field(page).fill(instant);
      await field(page).press('Enter');
      await page.locator('#totals .summary').getByText('As known on').waitFor();
      await settled(page);
    };

    beforeAll(async () => {
      const instant = (Math.floor(Date.now() / 1_000) + 1) * 1_000;
      then = new Date(instant).toISOString().slice(0, 19);
      await eventually('the second has passed', () => Date.now() > instant + 1_000);
      const deletedAt = daysAgo(0);
      await dashboard.record(
        threat('late-1', 'URL', 5),
        threat('late-2', 'URL', 6),
        sent('ThreatDeleted', { organization: 'acme', threatId: 'url-5', deletedAt }),
        sent('ReportDeleted', { organization: 'acme', reportId: 'now', deletedAt }),
      );
    });

    it('shows the numbers of then, each with its difference in a sign and in words, and keeps them on a reload', async () => {
      const opened = await dashboard.openFigures('', { viewport: { width: 360, height: 740 } });
      const { page, errors } = opened;
      await compare(opened, then);
      const { metrics } = await dashboard.get(`organization/metrics?startDate=${dateDaysAgo(29)}&knownAt=${then}Z`);
      const expected = {
        newThreats: [String(metrics.newThreats), '▲ +1', 'up by 1, needs attention', `${metrics.newThreats + 1} now`],
        reports: ['1', '▼ −1', 'down by 1', '0 now'],
        takedownsFiled: ['4', 'no change', '', '4 now'],
      };
      expect(await cards(page)).toMatchObject(expected);
      expect(await summary(page, 'totals')).toMatch(/^As known on .+ UTC, counted in the last 30 days up to then\./);
      expect(await page.locator('#totals .trend, #totals .figure button').count()).toBe(0);
      await page.reload();
      await settled(page);
      expect([await cards(page), await field(page).inputValue()]).toMatchObject([expected, then]);
      expect(await evaluate(page, 'document.documentElement.scrollWidth')).toBe(360);
      expect(errors).toEqual([]);
    });

    it('lists the records behind the differences, and saves them', async () => {
      const opened = await dashboard.openFigures(`?range=30d&knownAt=${then}.000Z`);
      const { page } = opened;
      await page.getByRole('button', { name: 'Show the records that changed' }).click();
      const dialog = page.locator('#records-dialog[open]');
      await dialog.locator('.summary').getByText('4 records.').waitFor();
      const at = (days: number): string => spokenTime(daysAgo(days));
      const none = 'Not in this range';
      expect(
        (await table(page, '#records-dialog')).map((row) => row.slice(0, 5)).sort(([a], [b]) => (a! < b! ? -1 : 1)),
      ).toEqual([
        ['late-1.example', 'Threat', none, `New threats (URL) ${at(5)}`, 'New, first stored after the range'],
        ['late-2.example', 'Threat', none, `New threats (URL) ${at(6)}`, 'New, first stored after the range'],
        ['now', 'Report', `Reports ${at(2)}`, none, 'Deleted'],
        ['url-5', 'Threat', `New threats (URL) ${at(20)}`, none, 'Deleted'],
      ]);
      expect(await dialog.locator('form').isVisible()).toBe(false);
      const [download] = await Promise.all([page.waitForEvent('download'), dialog.locator('.csv').click()]);
      expect([
        download.suggestedFilename(),
        (await readFile(await download.path(), 'utf8')).split('\r\n').length,
      ]).toEqual(['restated.csv', 6]);
      await dialog.getByRole('link', { name: 'late-1.example' }).click();
      await page.locator('#record-dialog[open]').getByText('late-1.example').first().waitFor();
    });

    it('says that nothing was known, that nothing changed, and that a time or a response is wrong', async () => {
      const opened = await dashboard.openFigures(`?range=30d`);
      const { page, asked } = opened;
      await compare(opened, '2026-01-01T00:00:00');
      expect(await summary(page, 'totals')).toContain('Nothing had been counted.');
      expect(Object.values(await totals(page))).toEqual(Array(5).fill('0'));
      await page.route('**/restatement/records*', (route) =>
        route.fulfill({ headers: { 'x-as-of': daysAgo(0) }, json: { items: [] } }),
      );
      await page.getByRole('button', { name: 'Show the records that changed' }).click();
      await page.locator('#records-dialog .summary').getByText('None. Range').waitFor();
      await page.keyboard.press('Escape');

      asked.length = 0;
      await field(page).fill('9998-01-01T00:00');
      await field(page).press('Enter');
      expect(await evaluate(page, `document.querySelector('[name=knownAt]').validationMessage`)).toContain(
        'in the past',
      );
      expect(asked).toEqual([]);

      await page.getByRole('button', { name: 'Show the present totals' }).click();
      await settled(page);
      expect([await field(page).inputValue(), new URL(page.url()).search]).toEqual(['', '?range=30d']);
      expect(await summary(page, 'totals')).toContain('Changes are relative to');
      expect(await evaluate(page, `document.activeElement.name`)).toBe('knownAt');

      const message = 'The metrics are being rebuilt, so the service does not know yet what it knew in the past';
      await page.route('**/metrics/restatement?*', (route) => route.fulfill({ status: 503, json: { message } }));
      await field(page).fill(then);
      await field(page).press('Enter');
      await page.locator('#problem').getByText(message).waitFor();
      expect([await summary(page, 'totals'), await totals(page)]).toEqual(['Not available.', {}]);
      expect(await page.getByRole('button', { name: 'Show the records that changed' }).isVisible()).toBe(false);
    });
  });
