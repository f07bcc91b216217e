import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { startApp, type TestApp } from '../support/app.js';
import { describeWithChromium, launchChromium } from '../support/browser.js';
import { eventually } from '../support/eventually.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { type Sent, sent, stored } from '../support/upstream.js';

// A page needs seconds where the machine is busy.
jest.setTimeout(60_000);

const MS_PER_DAY = 86_400_000;
const HOSTILE = '<img src=x onerror="document.title=1">';
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Noon of a day before today, so that no test is at a day's border. */
const daysAgo = (days: number): string =>
  `${new Date(Date.now() - days * MS_PER_DAY).toISOString().slice(0, 10)}T12:00:00.000Z`;
const dateDaysAgo = (days: number): string => daysAgo(days).slice(0, 10);

const threat = (id: string, type: string, days: number, status = 'BLOCKED'): Sent =>
  sent('ThreatStatusChanged', {
    organization: 'acme',
    threatId: id,
    asset: { type, content: `${id}.example` },
    status,
    createdAt: daysAgo(days),
    updatedAt: daysAgo(days),
  });
const takedown = (id: string, status: string, filed: number, updated = filed): Sent =>
  sent(status === 'TODO' ? 'TakedownFiled' : 'TakedownStatusChanged', {
    organization: 'acme',
    takedownId: id,
    brand: 'wallet',
    asset: { type: 'URL', content: `${id}.example` },
    status,
    createdAt: daysAgo(filed),
    updatedAt: daysAgo(updated),
  });
const report = (id: string, days: number): Sent =>
  sent('ReportFiled', {
    organization: 'acme',
    reportId: id,
    brands: ['wallet'],
    createdAt: daysAgo(days),
    updatedAt: daysAgo(days),
  });
const updatedAt = '2026-01-01T00:00:00Z';
const brand = (slug: string, name: string): Sent =>
  sent('BrandRegistered', { organization: 'acme', brand: slug, name, updatedAt });

const EVENTS = [
  sent('FeatureFlagChanged', { organization: 'acme', flag: 'brands-metrics', enabled: true, updatedAt }),
  brand('wallet', 'Wallet'),
  brand('hostile', HOSTILE),
  ...[1, 1, 1, 3, 8, 20].map((days, n) => threat(`url-${n}`, 'URL', days)),
  ...[2, 9].map((days, n) => threat(`x-${n}`, 'TWITTER', days)),
  threat('ignored', 'URL', 2, 'REJECTED'),
  threat('watched', 'URL', 4, 'WATCHLISTED'),
  ...[40, 41, 200].map((days, n) => threat(`old-${n}`, 'ADDRESS', days)),
  report('now', 2),
  report('before', 45),
  takedown('slow', 'COMPLETED', 9, 2),
  takedown('quick', 'COMPLETED', 5, 4),
  takedown('waiting', 'TODO', 3),
  takedown('given-up', 'CANCELED', 6, 5),
  sent('AssetStatusChanged', {
    changeId: 'c1',
    asset: { type: 'URL', content: 'evil.example' },
    status: 'BLOCKED',
    brandReviews: [{ organization: 'acme', brand: 'wallet' }],
    createdAt: daysAgo(1),
  }),
];

let app: TestApp;
let browser: Browser;
let key: string;
let projecting: Projecting;
/** A page with figures, for specs that leave it as it is. */
let shown: Opened;

const get = async (path: string, apiKey = key): Promise<any> => {
  const response = await fetch(`${app.url}/v2/${path}`, { headers: { 'x-api-key': apiKey } });
  expect([path, response.status]).toEqual([path, 200]);
  return response.json();
};

/** Stores what upstream reports, and waits until it is counted. */
const record = async (...events: readonly Sent[]): Promise<void> => {
  await app.log.appendAll(events.map(stored));
  const at = Date.now();
  await eventually('the events are counted', async () => {
    const { headers } = await fetch(`${app.url}/v2/organization/metrics`, { headers: { 'x-api-key': key } });
    return Date.parse(headers.get('x-as-of')!) > at;
  });
};

interface Opened {
  readonly page: Page;
  /** Errors of the console and of scripts. */
  readonly errors: string[];
  /** Every address asked for, in order. */
  readonly asked: URL[];
  /** Statuses of the answers. */
  readonly statuses: number[];
}

const open = async (address = '', options: BrowserContextOptions = {}): Promise<Opened> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const opened: Opened = { page, errors: [], asked: [], statuses: [] };
  page.on('console', (message) => message.type() === 'error' && opened.errors.push(message.text()));
  page.on('pageerror', (error) => opened.errors.push(error.message));
  page.on('request', (request) => opened.asked.push(new URL(request.url())));
  page.on('response', (response) => opened.statuses.push(response.status()));
  await page.clock.install();
  await page.goto(`${app.url}/dashboard${address}`);
  return opened;
};

const signIn = async (page: Page, apiKey = key): Promise<void> => {
  await page.locator('#key').fill(apiKey);
  await page.keyboard.press('Enter');
};

/** With its first figures. */
const openFigures = async (address = '', options: BrowserContextOptions = {}, apiKey = key): Promise<Opened> => {
  const opened = await open(address, options);
  await signIn(opened.page, apiKey);
  await settled(opened.page);
  return opened;
};

const settled = (page: Page): Promise<void> => page.locator('#figures:not([aria-busy]) .figure').first().waitFor();

const choose = async ({ page }: Opened, name: string): Promise<void> => {
  await page.locator('.choices').getByText(name, { exact: true }).click();
  await settled(page);
};

const evaluate = <T>(page: Page, expression: string): Promise<T> => page.evaluate(expression);

const datasets = (page: Page, id: string): Promise<number[][]> =>
  evaluate(page, `Chart.getChart(document.querySelector('#${id} canvas')).data.datasets.map((each) => each.data)`);
const labels = (page: Page, id: string): Promise<string[]> =>
  evaluate(page, `Chart.getChart(document.querySelector('#${id} canvas')).data.labels`);
const table = (page: Page, selector: string): Promise<string[][]> =>
  evaluate(
    page,
    `[...document.querySelectorAll('${selector} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`,
  );
const totals = async (page: Page): Promise<Record<string, string>> =>
  evaluate(
    page,
    `Object.fromEntries([...document.querySelectorAll('#totals dl > div')].map((each) =>
      [each.dataset.metric, each.querySelector('.figure').textContent]))`,
  );
const problem = (page: Page) => page.locator('#problem');
const texts = (values: readonly number[]): string[] => values.map(String);
const lastAsked = ({ asked }: Opened, path: string): string =>
  asked.filter(({ pathname }) => pathname.endsWith(path)).at(-1)!.search;

const KEYS = ['newThreats', 'reports', 'threatsWatchlisted', 'takedownsFiled', 'takedownsCompleted'] as const;

describeWithChromium('The dashboard', () => {
  beforeAll(async () => {
    [app, browser] = await Promise.all([startApp(), launchChromium()]);
    projecting = startProjecting(app.log, app.pool);
    key = await app.issueKey({ organization: 'acme' });
    await record(...EVENTS);
    for (const [path, body] of [
      ['', { name: HOSTILE }],
      ['', { name: '=1+1' }],
      ['/1/assets', { contents: ['a.example', 'b.example'] }],
    ] as const)
      await fetch(`${app.url}/v2/organization/asset-groups${path}`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    shown = await openFigures();
  });
  afterAll(async () => {
    await browser?.close();
    await projecting.stop();
    await app?.close();
  });

  it('shows what the API answers, in charts and tables, and asks nobody else', async () => {
    const { page, errors, asked } = shown;
    const { current, difference } = await get(
      `organization/metrics/comparison${lastAsked(shown, '/metrics/comparison')}`,
    );
    expect(lastAsked(shown, '/metrics/comparison')).toBe(`?startDate=${dateDaysAgo(29)}&with=previous`);
    expect(current.metrics).toMatchObject({ newThreats: 8, reports: 1, threatsWatchlisted: 1, takedownsFiled: 4 });
    expect(await totals(page)).toEqual(Object.fromEntries(KEYS.map((name) => [name, String(current.metrics[name])])));
    expect(difference.newThreats).toBe(6);
    expect(await page.locator('[data-metric=newThreats] .change').textContent()).toBe('+6 (+300%)');
    expect(await page.locator('[data-metric=reports] .change').textContent()).toBe('no change');
    expect(await page.locator('[data-metric=takedownsFiled] .change').textContent()).toBe('+4 (none before)');

    const { points, interval } = await get(`organization/metrics/timeline${lastAsked(shown, '/timeline')}`);
    expect([interval, points.length]).toEqual(['day', 30]);
    const column = (name: string): number[] => points.map((point: Record<string, number>) => point[name]);
    expect(await datasets(page, 'timeline')).toEqual(['newThreats', 'threatsWatchlisted', 'reports'].map(column));
    expect((await table(page, '#timeline')).map(([, ...cells]) => cells)).toEqual(
      points.map((point: Record<string, number>) =>
        texts(
          ['newThreats', 'threatsWatchlisted', 'reports', 'takedownsFiled', 'takedownsCompleted'].map(
            (name) => point[name]!,
          ),
        ),
      ),
    );

    const { blockedByType } = await get(`organization/metrics?startDate=${dateDaysAgo(29)}`);
    expect(blockedByType).toEqual([
      { type: 'URL', count: 6 },
      { type: 'TWITTER', count: 2 },
    ]);
    expect([await labels(page, 'types'), await datasets(page, 'types')]).toEqual([['URL', 'TWITTER'], [[6, 2]]]);
    expect(await table(page, '#types')).toEqual([
      ['URL', '6'],
      ['TWITTER', '2'],
    ]);

    const statistics = await get(`organization/takedowns/statistics${lastAsked(shown, '/statistics')}`);
    const { filed, completed, open: waiting, canceled, retracted, timeToTakedown } = statistics;
    const outcomes = [filed, completed, waiting, canceled, retracted];
    expect(outcomes).toEqual([4, 2, 1, 1, 0]);
    expect(await datasets(page, 'takedowns')).toEqual([outcomes]);
    expect((await table(page, '#takedowns details:nth-of-type(1)')).map(([, n]) => n)).toEqual(texts(outcomes));
    expect(timeToTakedown).toMatchObject({ count: 2, median: MS_PER_DAY, longest: 7 * MS_PER_DAY });
    expect(await page.locator('#takedowns .summary').textContent()).toContain('Median time to takedown: 1 d');
    expect((await table(page, '#takedowns details:nth-of-type(2)'))[0]).toEqual([
      'All types',
      '2',
      '1 d',
      '7 d',
      '7 d',
      '7 d',
    ]);

    expect(errors).toEqual([]);
    expect([...new Set(asked.map(({ origin }) => origin))]).toEqual([app.url]);
  });

  it('names each chart in words for those who do not see it', async () => {
    const { page } = shown;
    for (const [name, words] of [
      ['Threats over time', '8 new threats, by day'],
      ['Blocked threats by type', '6 of 8 (75%) are of type URL'],
      ['Takedowns by outcome', '50% are completed'],
    ] as const)
      expect(await page.getByRole('img', { name }).getAttribute('aria-label')).toContain(words);
  });

  it('shows names as they are, whatever they hold, and saves no formulas', async () => {
    const { page, errors } = shown;
    expect(await table(page, '#groups')).toEqual([
      [HOSTILE, '2'],
      ['=1+1', '0'],
    ]);
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

  it('saves the timeline as the API writes it', async () => {
    await shown.page.getByText('Table of threats over time').click();
    const text = await saved(shown.page, '#timeline');
    const response = await fetch(`${app.url}/v2/organization/metrics/timeline${lastAsked(shown, '/timeline')}`, {
      headers: { 'x-api-key': key, accept: 'text/csv' },
    });
    // The last line ends at the moment of the question.
    const lines = (csv: string): string[] => csv.split('\r\n').slice(0, -2);
    expect(lines(text)).toEqual(lines(await response.text()));
    expect(lines(text)).toHaveLength(30);
  });

  it('asks for the chosen range, brand and days', async () => {
    const opened = await openFigures();
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
    expect((await datasets(page, 'timeline'))[0]!.reduce((sum, n) => sum + n)).toBe(11);
    await choose(opened, '12 months');
    expect(lastAsked(opened, '/timeline')).toMatch(/interval=week$/);

    await page.getByLabel('Brand').selectOption('wallet');
    await settled(page);
    expect(lastAsked(opened, '/timeline')).toMatch(/brandSlug=wallet/);
    expect((await totals(page))['newThreats']).toBe('1');
    await page.getByLabel('Brand').selectOption('');

    await choose(opened, 'Own dates');
    await page.getByLabel('First day').fill(dateDaysAgo(2));
    await page.getByLabel('Last day').fill(dateDaysAgo(3));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    expect(await evaluate(page, `document.querySelector('[name=endDate]').validationMessage`)).toContain('before');
    await page.getByLabel('Last day').fill(dateDaysAgo(1));
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await settled(page);
    expect(lastAsked(opened, '/timeline')).toBe(`?startDate=${dateDaysAgo(2)}&endDate=${dateDaysAgo(1)}&interval=day`);
    expect((await datasets(page, 'timeline'))[0]).toEqual([1, 3]);
    // It is in the address, so that a reload shows the same.
    await page.reload();
    await settled(page);
    expect((await datasets(page, 'timeline'))[0]).toEqual([1, 3]);
  });

  it('checks an asset and says who says what', async () => {
    const { page } = shown;
    await page.locator('#content').fill('https://evil.example/login');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('.status.blocked').waitFor();
    expect(await page.locator('.verdict p').textContent()).toContain('"https://evil.example/login" is blocked');
    expect((await table(page, '#check'))[0]!.slice(1)).toEqual(['BLOCKED', '–', 'evil.example']);
  });

  it.each(['light', 'dark'] as const)('has no finding of axe-core in %s', async (colorScheme) => {
    const { page } = await openFigures('', { colorScheme });
    await page.locator('#content').fill('evil.example');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('.status.blocked').waitFor();
    for (const summary of await page.locator('summary').all()) await summary.click();
    await page.evaluate(await readFile(AXE, 'utf8'));
    const findings = `axe.run().then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`;
    expect(await evaluate(page, findings)).toEqual([]);
    await page.getByRole('button', { name: 'Forget key' }).click();
    expect(await evaluate(page, findings)).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    const { page } = await openFigures();
    // From the top of the page.
    await page.reload();
    await settled(page);
    const reached: string[] = [];
    for (let n = 0; n < 40; n++) {
      await page.keyboard.press('Tab');
      const on = await evaluate<string>(
        page,
        `(({ tagName, id, name, textContent }) => [tagName, id || name || textContent.trim()].join(' '))(document.activeElement)`,
      );
      if (on.startsWith('BODY') || on === reached[0]) break;
      reached.push(on);
    }
    expect(reached).toEqual([
      'A Skip to the figures',
      'BUTTON forget',
      'INPUT range',
      'SELECT brandSlug',
      'SUMMARY Table of threats over time',
      'SUMMARY Table of blocked threats by type',
      'SUMMARY Table of takedowns by outcome',
      'SUMMARY Table of times to takedown',
      'BUTTON Save as CSV',
      expect.stringMatching(/^DIV Group/),
      'INPUT content',
      'BUTTON Check',
      'A API reference',
    ]);
    await page.locator('[name=range]:checked').focus();
    await page.keyboard.press('ArrowLeft');
    await page
      .locator('#announcement')
      .getByText('Figures of the last 7 days are shown')
      .waitFor({ state: 'attached' });
  });

  it('refreshes every 30 s while it is seen, with what it has already', async () => {
    const opened = await openFigures();
    const { page, asked, statuses } = opened;
    const before = Number((await totals(page))['newThreats']);
    await record(threat(`live-${before}`, 'URL', 1));
    await page.clock.fastForward(31_000);
    await page
      .locator('[data-metric=newThreats] .figure')
      .getByText(String(before + 1), { exact: true })
      .waitFor();
    await settled(page);
    expect((await datasets(page, 'types'))[0]![0]).toBe(before + 1 - 2);

    statuses.length = 0;
    await page.clock.fastForward(31_000);
    await eventually('the next answers are here', () => statuses.length >= 6);
    expect(statuses.filter((status) => status === 304)).toHaveLength(3);
    await settled(page);

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
    await eventually('it asks at once', () => asked.length > 0);
  });

  it('keeps the key for the tab only, and forgets it when asked to', async () => {
    const { page } = await open();
    await signIn(page, `X-API-KEY: ${key}`);
    await settled(page);
    expect(page.url()).not.toContain(key);
    const stored = `[localStorage.length, document.cookie, Object.values(sessionStorage)]`;
    expect(await evaluate(page, stored)).toEqual([0, '', [key]]);
    await page.reload();
    await settled(page);
    const other = await page.context().newPage();
    await other.goto(`${app.url}/dashboard`);
    await other.locator('#key').waitFor();
    await page.getByRole('button', { name: 'Forget key' }).click();
    expect(await evaluate(page, stored)).toEqual([0, '', []]);
    expect(await evaluate(page, `document.activeElement.id`)).toBe('key');
    expect(await page.locator('#figures').textContent()).not.toMatch(/acme|Wallet|=1\+1/);
    await page.reload();
    expect(await page.locator('#key').isVisible()).toBe(true);
  });

  it('says in words that a key is wrong, or lacks the scope', async () => {
    const { page } = await open();
    for (const wrong of ['tp_wrong', 'ключ', `${key.slice(0, -1)}!`]) {
      await signIn(page, wrong);
      await problem(page).getByText('This is not a valid key').waitFor();
      expect(await page.locator('#key').isVisible()).toBe(true);
      expect(await evaluate(page, 'sessionStorage.length')).toBe(0);
    }
    await signIn(page, await app.issueKey({ organization: 'acme', scopes: ['write'] }));
    await problem(page).getByText('This key does not have access: The key lacks the scope read.').waitFor();
  });

  it('says when the network is gone, keeps what it shows, and is right again after that', async () => {
    const { page } = await openFigures();
    const shown = await totals(page);
    await page.context().setOffline(true);
    await page.clock.fastForward(31_000);
    await problem(page).getByText('The service cannot be reached. Check your network. Retrying').waitFor();
    expect(await totals(page)).toEqual(shown);
    // Figures of one range are not shown as those of another.
    await page.locator('.choices').getByText('7 days').click();
    await page.locator('#totals').getByText('No figures.').waitFor();
    await page.context().setOffline(false);
    await page.locator('.figure').first().waitFor();
    expect(await problem(page).textContent()).toBe('');
  });

  it.each([
    [429, { 'retry-after': '90' }, 'Too many requests. Retrying in 90 seconds.'],
    [503, { 'x-request-id': 'r1' }, 'has a problem (503: wait a little, request r1). Retrying in 30 seconds.'],
  ])('says what a %d means and when it tries again', async (status, headers, words) => {
    const { page } = await open();
    await page.route('**/takedowns/statistics*', (route) =>
      route.fulfill({ status, headers, json: { code: 'X', message: 'wait a little' } }),
    );
    await signIn(page);
    await problem(page).getByText(words).waitFor();
    // One panel's failure leaves the others standing.
    expect((await totals(page))['reports']).toBe('1');
    expect(await page.locator('#takedowns .summary').textContent()).toBe('No figures.');
  });

  it('shows zeros for an organization of which nothing is counted, and says so', async () => {
    const empty = await app.issueKey({ organization: 'empty', scopes: ['read'] });
    const opened = await openFigures('', {}, empty);
    const { page, errors } = opened;
    for (const range of ['the last 30 days', 'all time']) {
      if (range === 'all time') await choose(opened, 'All time');
      await page.locator('#totals').getByText(`Nothing has been counted for your organization in ${range}.`).waitFor();
      expect(await totals(page)).toEqual(Object.fromEntries(KEYS.map((name) => [name, '0'])));
      expect(await datasets(page, 'takedowns')).toEqual([[0, 0, 0, 0, 0]]);
    }
    expect(await page.locator('#groups .summary').textContent()).toBe('There are no asset groups yet.');
    expect(await page.locator('#brand-choice').isVisible()).toBe(false);
    expect(errors).toEqual([]);
  });

  it('fits every screen, and chooses the interval by its width', async () => {
    const opened = await openFigures('?range=90d', { viewport: { width: 360, height: 740 } });
    const { page } = opened;
    for (const width of [360, 1280, 2560, 3840]) {
      await page.setViewportSize({ width, height: 900 });
      await page.reload();
      await settled(page);
      expect(await evaluate(page, 'document.documentElement.scrollWidth')).toBe(width);
      expect(lastAsked(opened, '/timeline')).toContain(width === 360 ? 'interval=week' : 'interval=day');
    }
  });
});
