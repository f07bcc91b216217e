import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { choose, dashboard, evaluate, lastAsked, type Opened, settled, signIn } from './opened-dashboard.js';

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** px */
const boxes = (page: Page, selector: string): Promise<Box[]> =>
  evaluate(
    page,
    `[...document.querySelectorAll('${selector}')].map((each) => each.getBoundingClientRect())
      .map(({ left, right, top, bottom }) => ({ left, right, top, bottom }))`,
  );
const heights = async (page: Page, selector: string): Promise<number[]> =>
  (await boxes(page, selector)).map(({ top, bottom }) => bottom - top);

export const layout = () =>
  describe('with its layout', () => {
    /** The page with figures, which the tests share until one of them reloads it. */
    let openedPage: Opened;

    beforeAll(async () => {
      openedPage = await dashboard.openFigures();
    });

    it.each([360, 700, 1280, 2560])('has no row with a single total at a width of %d px', async (width) => {
      const { page } = openedPage;
      await page.setViewportSize({ width, height: 900 });
      const [all] = await boxes(page, '#totals dl');
      const cards = await boxes(page, '#totals dl > div');
      for (const { top } of cards) {
        const row = cards.filter((card) => card.top === top);
        expect([row[0]!.left, row.at(-1)!.right].map(Math.round)).toEqual([all!.left, all!.right].map(Math.round));
      }
    });

    it('shows the asset check on the first screen of a wide window, and always before the charts', async () => {
      const { page } = openedPage;
      for (const width of [2560, 1280, 360]) {
        await page.setViewportSize({ width, height: 1440 });
        const [[check], [timeline], [totals]] = [
          await boxes(page, '#check'),
          await boxes(page, '#timeline'),
          await boxes(page, '#totals'),
        ];
        expect(check!.bottom).toBeLessThanOrEqual(timeline!.top);
        if (width === 2560) expect([check!.top, check!.left > totals!.right]).toEqual([totals!.top, true]);
      }
    });

    it('draws bars of the same height, however many there are', async () => {
      const { page } = openedPage;
      const [types] = await heights(page, '#types .chart');
      const [takedowns] = await heights(page, '#takedowns .chart');
      expect(types! / 2).toBeCloseTo(takedowns! / 5, 1);
    });

    it('separates the columns of a table', async () => {
      const { page } = openedPage;
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.getByText('Table of times to takedown').click();
      const align = (cells: string): Promise<string[]> =>
        evaluate(
          page,
          `[...new Set([...document.querySelectorAll('${cells}')].map((cell) => getComputedStyle(cell).textAlign))]`,
        );
      const times = '#takedowns details:nth-of-type(2)';
      expect(await align(`${times} thead th + th, ${times} td`)).toEqual(['right']);
    });

    it('draws each series with a separate scale, one below the other on a common time axis', async () => {
      const { page } = openedPage;
      await choose(openedPage, 'All time');
      const charts = await evaluate<{ max: number; left: number; right: number; names: boolean }[]>(
        page,
        `[...document.querySelectorAll('#timeline canvas')].map((canvas) => Chart.getChart(canvas))
        .map(({ scales: { x, y } }) => ({ max: y.max, left: x.left, right: x.right, names: x.options.ticks.display }))`,
      );
      expect(charts.map(({ names }) => names)).toEqual([false, false, true]);
      expect(new Set(charts.map(({ left, right }) => `${left} ${right}`)).size).toBe(1);
    });

    it('puts the name of a series closer to its own chart than to the chart above', async () => {
      const { page } = openedPage;
      const [names, charts] = [await boxes(page, '.series h3'), await boxes(page, '.series .chart')];
      const gaps = names.map((name, index) => [
        name.top - (charts[index - 1]?.bottom ?? 0),
        charts[index]!.top - name.bottom,
      ]);
      expect(gaps).toHaveLength(3);
      for (const [above, own] of gaps.slice(1)) expect(above).toBeGreaterThan(2 * own! + 16);
    });

    it('fits every screen width, and chooses the interval by the width', async () => {
      const opened = await dashboard.openFigures('?range=90d', { viewport: { width: 360, height: 740 } });
      const { page } = opened;
      for (const width of [360, 1280, 2560, 3840]) {
        await page.setViewportSize({ width, height: 900 });
        if (width === 1280) {
          expect(lastAsked(opened, '/timeline')).toContain('interval=week');
          await page.reload();
          await settled(page);
          expect(lastAsked(opened, '/timeline')).toContain('interval=day');
        }
        expect(await evaluate(page, 'document.documentElement.scrollWidth')).toBe(width);
      }
    });

    it('shows a problem with the key no wider than the sign-in form', async () => {
      const { page } = await dashboard.openFigures();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn(page, 'tp_wrong');
      await page.locator('#problem').getByText('not a valid key').waitFor();
      const [[problem], [form]] = [await boxes(page, '#problem'), await boxes(page, '#sign-in')];
      expect([problem!.left, problem!.right]).toEqual([form!.left, form!.right]);
    });
  });
