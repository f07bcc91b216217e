import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { ERROR_CODES } from '../../../src/http/errors/error-codes.js';
import { startApp, type TestApp } from '../../support/app.js';
import { describeWithChromium } from '../../support/browser.js';
import { launchChromium } from '../../support/chromium.js';
import { readReference } from '../../support/contract.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

/** The page of the reference, as the built service serves it and a browser shows it. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const CHECK = '#operations-Asset_check-checkAsset';
const EVENTS = '#operations-Events-sendEvents';

let database: TestDatabase;
let keys: TestApp;
let service: Program;
let url: string;
let browser: Browser;
let page: Page;
let key: string;
/** What the browser asked other hosts for, and what it complained of. */
const strangers: string[] = [];
const complaints: string[] = [];

const start = async (): Promise<void> => {
  database = await createDatabase();
  keys = await startApp({ databaseUrl: database.url });
  key = await keys.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
  service = startProgram('src/main.js', [], { env: { DATABASE_URL: database.url, PORT: '0' } });
  url = await service.listening();
  browser = await launchChromium();
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== url && protocol !== 'data:') strangers.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(`${url}/docs`);
  await page.waitForSelector('.opblock');
};

/** Evaluated beside the page's policy, which lets no such script in. */
const evaluate = async (expression: string): Promise<unknown> => {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  return result.value;
};

const seriousFindings = async (): Promise<unknown> => {
  await evaluate(AXE);
  return evaluate(
    `axe.run(document).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))]))`,
  );
};

const open = async (operation: string): Promise<void> => {
  await page.click(`${operation} .opblock-summary-control`);
  await page.waitForSelector(`${operation} .btn.execute`);
};

const execute = async (operation: string): Promise<{ status: string; body: unknown }> => {
  await page.click(`${operation} .btn.execute`);
  const answer = page.locator(`${operation} .live-responses-table tbody tr`).first();
  await answer.waitFor();
  return {
    status: (await answer.locator('.response-col_status').innerText()).trim(),
    body: JSON.parse(await answer.locator('pre').first().innerText()),
  };
};

describeWithChromium('The page of the reference', () => {
  beforeAll(start);
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await keys?.close();
    await database?.drop();
  });

  it('shows the reference of the build, its groups in the order of use', async () => {
    expect(await (await fetch(`${url}/openapi.json`)).json()).toEqual(readReference());
    expect(
      await page.locator('.opblock-tag').evaluateAll((tags) => tags.map((tag) => tag.getAttribute('data-tag'))),
    ).toEqual(readReference().tags.map(({ name }) => name));
    expect(await page.locator('.opblock').count()).toBeGreaterThan(10);
  });

  it('says once what every route may answer', async () => {
    await open(CHECK);
    const statuses = await page
      .locator(`${CHECK} tr.response[data-code]`)
      .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-code')));
    expect(statuses).toEqual(['200', '400', '403']);
    expect(await page.locator(`${CHECK} .said-once a`).getAttribute('href')).toBe('#errors');
    expect(await page.locator('#errors h2').innerText()).toBe('Errors');
  });

  it('takes a key, sends a check with it and shows the answer', async () => {
    await page.click('.btn.authorize');
    await page.fill('.modal-ux input', key);
    expect(await seriousFindings()).toEqual([]);
    await page.click('.modal-ux .authorize');
    await page.click('.modal-ux .close-modal');
    const { status, body } = await execute(CHECK);
    expect([status, body]).toEqual(['200', expect.objectContaining({ status: 'UNKNOWN', source: 'own' })]);
  });

  it('sends an event as it is shown', async () => {
    await open(EVENTS);
    expect(await execute(EVENTS)).toEqual({ status: '200', body: { accepted: 1, duplicates: 0, rejected: [] } });
  });

  it.each(['light', 'dark'] as const)('can be read and used by everybody in %s: no serious finding', async (scheme) => {
    await page.emulateMedia({ colorScheme: scheme });
    // Swagger UI fades from one colour to the next, beginning with the next frame.
    await evaluate('new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))');
    await evaluate('Promise.all(document.getAnimations().map(({ finished }) => finished))');
    expect(await seriousFindings()).toEqual([]);
  });

  it('is in the colours and the type of the dashboard', async () => {
    const looks = `(({ backgroundColor, color, fontFamily }) => [backgroundColor, color, fontFamily])(getComputedStyle(%))`;
    const look = (element: string): Promise<unknown> => evaluate(looks.replace('%', element));
    const ofReference: unknown[] = [];
    const ofDashboard: unknown[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      ofReference.push(await look(`document.querySelector('.swagger-ui')`));
    }
    const dashboard = await browser.newPage();
    await dashboard.goto(`${url}/dashboard`);
    for (const colorScheme of ['light', 'dark'] as const) {
      await dashboard.emulateMedia({ colorScheme });
      ofDashboard.push(await dashboard.evaluate(looks.replace('%', 'document.body')));
    }
    await dashboard.close();
    expect(ofReference).toEqual(ofDashboard);
    expect(ofReference[0]).not.toEqual(ofReference[1]);
  });

  it.each([360, 1280])('fits a window of %d px, with an operation open', async (width) => {
    await page.setViewportSize({ width, height: 900 });
    expect(await evaluate('document.documentElement.scrollWidth')).toBe(width);
  });

  it('has the routes before the table of errors', async () => {
    const tops = `['.opblock', '#errors table'].map((each) => document.querySelector(each).getBoundingClientRect().top)`;
    const [routes, errors] = (await evaluate(tops)) as [number, number];
    expect(routes).toBeLessThan(errors);
    expect(await page.locator('.info table, #errors table', { hasText: 'TOO_MANY_REQUESTS' }).count()).toBe(1);
    expect(await page.locator('#errors tbody tr').count()).toBe(Object.keys(ERROR_CODES).length);
  });

  it('keeps the key for the tab alone', async () => {
    await page.reload();
    await page.waitForSelector('.opblock');
    await page.waitForSelector('.btn.authorize.locked');
    expect(await page.evaluate('[sessionStorage.length, localStorage.length]')).toEqual([1, 0]);
  });

  it('asks no other host for anything and complains of nothing', () => {
    expect([strangers, complaints]).toEqual([[], []]);
  });
});
