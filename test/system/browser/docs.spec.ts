import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { issueApiKey } from '../../../src/api-keys/api-keys.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { describeWithChromium } from '../../support/browser.js';
import { launchChromium } from '../../support/chromium.js';
import { readReference } from '../../support/contract.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

/** The page of the API reference of the built service in a browser. */

const CHECK = '#operations-Asset_check-checkAsset';
const EVENTS = '#operations-Events-sendEvents';

let database: TestDatabase;
let service: Program;
let url: string;
let browser: Browser;
let page: Page;
let key: string;
/** Requests to other hosts, and errors in the console. */
const strangers: string[] = [];
const problems: string[] = [];

const start = async (): Promise<void> => {
  database = await createDatabase();
  const log = await createPostgresLog(database.pool);
  ({ key } = await issueApiKey(log, { organization: 'acme', scopes: ['read', 'write', 'ingest'] }));
  service = startProgram('src/main.js', [], { env: { DATABASE_URL: database.url, PORT: '0' } });
  [url, browser] = await Promise.all([service.listening(), launchChromium()]);
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== url && protocol !== 'data:') strangers.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(`${url}/docs`);
  await page.waitForSelector('.opblock');
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

describeWithChromium('The page of the API reference', () => {
  beforeAll(start);
  afterAll(async () => {
    await browser?.close();
    await service?.end();
    await database?.drop();
  });

  it('shows the API reference of the build, with its groups in the order of use', async () => {
    expect(await (await fetch(`${url}/openapi.json`)).json()).toEqual(readReference());
    expect(
      await page.locator('.opblock-tag').evaluateAll((tags) => tags.map((tag) => tag.getAttribute('data-tag'))),
    ).toEqual(readReference().tags.map(({ name }) => name));
    expect(await page.locator('.opblock').count()).toBeGreaterThan(10);
  });

  it('accepts a pasted header line with the key, sends an asset check with it and shows the response', async () => {
    await open(CHECK);
    await page.click('.btn.authorize');
    await page.fill('.modal-ux input', `X-API-KEY: ${key}`);
    await page.click('.modal-ux .authorize');
    await page.click('.modal-ux .close-modal');
    const { status, body } = await execute(CHECK);
    expect([status, body]).toEqual(['200', expect.objectContaining({ status: 'UNKNOWN', source: 'own' })]);
  });

  it('sends the displayed example event', async () => {
    await open(EVENTS);
    expect(await execute(EVENTS)).toEqual({ status: '200', body: { accepted: 1, duplicates: 0, rejected: [] } });
  });

  it('is no wider than a phone, with operations open and executed', async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    const last = await page.locator('.info table tr td:last-child').first().boundingBox();
    expect(last!.x + last!.width).toBeLessThanOrEqual(360);
    expect(await page.getByRole('link', { name: 'Dashboard' }).getAttribute('href')).toBe('./dashboard');
  });

  it('sends no request to other hosts and logs no error', () => {
    expect([strangers, problems]).toEqual([[], []]);
  });
});
