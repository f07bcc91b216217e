import { randomUUID } from 'node:crypto';
import { webhooksStream } from '../../../src/events/streams.js';
import type { Browser, BrowserContext, Page, Response, ViewportSize } from 'playwright-core';
import { expect } from '@jest/globals';
import { startApp, type TestApp } from '../../support/app.js';
import { launchChromium } from '../../support/chromium.js';
import { startProjecting } from '../../support/projecting.js';
import { report, type Sent, stored } from '../../support/upstream.js';
import { DISPUTE_EVENTS, EVENTS, HOSTILE } from './acme-events.js';

export interface Opened {
  readonly page: Page;
  /** Errors of the console and of scripts. */
  readonly errors: string[];
  /** Every requested URL, in order. */
  readonly asked: URL[];
  /** Every response, in order. */
  readonly answers: Response[];
}

export const evaluate = <T>(page: Page, expression: string): Promise<T> => page.evaluate(expression);

/** Waits until the page shows the figures of its latest requests. */
export const settled = (page: Page): Promise<void> =>
  page.locator('#figures:not([aria-busy]) .figure').first().waitFor();

export const signIn = async (page: Page, key: string): Promise<void> => {
  await page.locator('#key').fill(key);
  await page.keyboard.press('Enter');
};

export const choose = async ({ page }: Opened, name: string): Promise<void> => {
  await page.locator('.choices').getByText(name, { exact: true }).click();
  await settled(page);
};

/** Returns the bars of every chart that a panel shows. */
export const bars = (page: Page, id: string): Promise<number[][]> =>
  evaluate(
    page,
    `[...document.querySelectorAll('#${id} canvas')].filter((canvas) => canvas.checkVisibility())
      .map((canvas) => Chart.getChart(canvas).data.datasets[0].data)`,
  );
export const labels = (page: Page, id: string): Promise<string[]> =>
  evaluate(page, `Chart.getChart(document.querySelector('#${id} canvas')).data.labels`);
export const table = (page: Page, selector: string): Promise<string[][]> =>
  evaluate(
    page,
    `[...document.querySelectorAll('${selector} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`,
  );
export const totals = async (page: Page): Promise<Record<string, string>> =>
  evaluate(
    page,
    `Object.fromEntries([...document.querySelectorAll('#totals dl > div')].map((each) =>
      [each.dataset.metric, each.querySelector('.figure').textContent]))`,
  );
/** Returns an instant as the page writes it. */
export const spokenTime = (iso: string): string =>
  `${new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' }).format(new Date(iso))} UTC`;
export const summary = (page: Page, id: string): Promise<string | null> =>
  page.locator(`#${id} .summary`).textContent();
export const lastAsked = ({ asked }: Opened, path: string): string =>
  asked.filter(({ pathname }) => pathname.endsWith(path)).at(-1)!.search;

export interface Dashboard {
  readonly app: TestApp;
  /** Read and write access to acme. */
  readonly key: string;
  /** Stores events, and waits until they are counted. */
  record(...events: readonly Sent[]): Promise<void>;
  get(path: string): Promise<any>;
  /** Opens the page in another browser context than the shared page, without a key and without earlier visits. */
  open(address?: string): Promise<Opened>;
  /** Opens the page like `open`, signs in, and waits for the figures. */
  openWithKey(apiKey: string, address?: string): Promise<Opened>;
  /** Reloads the shared page, and waits for the figures. */
  openFigures(address?: string, size?: { readonly viewport?: ViewportSize }): Promise<Opened>;
  stop(): Promise<void>;
}

const VIEWPORT: ViewportSize = { width: 1280, height: 900 };

const GROUPS = [
  ['', { name: HOSTILE }],
  ['', { name: '=1+1' }],
  ['/1/assets', { contents: ['a.example', 'b.example'] }],
] as const;

/** The dashboard of the run. */
export let dashboard: Dashboard;

export const stopDashboard = async (): Promise<void> => dashboard?.stop();

/**
 * The page that all specs share. In a new context, loading the page and signing in costs a second of processor time.
 */
let shared: Opened | undefined;

/** The context of all other pages. */
let guest: BrowserContext | undefined;

/** Closes the pages that a test opened, because every open page sends requests twice a minute. */
export const closePages = async (): Promise<void> => {
  for (const page of guest?.pages() ?? []) await page.close();
};

/** Starts the API with its projections, the events of acme, and a browser. */
export const startDashboard = async (): Promise<void> => {
  const [app, browser]: [TestApp, Browser] = await Promise.all([startApp(), launchChromium()]);
  const projecting = startProjecting(app.log, app.pool);
  const key = await app.issueKey({ organization: 'acme' });
  const ingest = await app.issueKey({ scopes: ['ingest'] });

  const record = async (...recorded: readonly Sent[]): Promise<void> => {
    const after = await report(app, ingest, recorded);
    for (const path of ['metrics', 'metrics/false-positives'])
      expect((await app.call(`/v2/organization/${path}`, { key, after })).status).toBe(200);
  };
  const newContext = (): Promise<BrowserContext> => browser.newContext({ viewport: VIEWPORT });
  const blank = async (context: BrowserContext): Promise<Opened> => {
    const page = await context.newPage();
    page.setDefaultTimeout(100_000);
    const opened: Opened = { page, errors: [], asked: [], answers: [] };
    page.on('console', (message) => message.type() === 'error' && opened.errors.push(message.text()));
    page.on('pageerror', (error) => opened.errors.push(error.message));
    page.on('request', (request) => opened.asked.push(new URL(request.url())));
    page.on('response', (response) => opened.answers.push(response));
    return opened;
  };
  const load = async ({ page }: Opened, address: string): Promise<void> => {
    await page.clock.install();
    await page.goto(`${app.url}/dashboard${address}`);
  };
  const open = async (address = ''): Promise<Opened> => {
    const opened = await blank((guest ??= await newContext()));
    await load(opened, address);
    await evaluate(opened.page, 'localStorage.clear()');
    return opened;
  };
  await app.log.appendAll(DISPUTE_EVENTS.map(stored));
  await record(...EVENTS);
  for (const [path, body] of GROUPS)
    await fetch(`${app.url}/v2/organization/asset-groups${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const at = '2026-03-01T00:00:00.000Z';
  const startOfWebhook = { startAfter: -1, startLog: await app.log.id(), replay: 0 };
  const webhook = {
    organization: 'acme',
    webhookId: 'wh_1',
    url: 'https://acme.example/',
    batch: 1,
    state: 'DISABLED',
  };
  const webhookFields = { description: HOSTILE, generation: 1, masterKey: 'first', createdAt: at, updatedAt: at };
  const data = {
    ...webhook,
    ...startOfWebhook,
    ...webhookFields,
    disabledReason: 'gone',
    types: ['report'],
    statuses: ['NONE'],
  };
  await app.log.append(webhooksStream('acme'), 'any', [
    { id: randomUUID(), type: 'WebhookCreated', data, metadata: {} },
  ]);
  dashboard = {
    app,
    key,
    record,
    open,
    get: async (path) => {
      const response = await fetch(`${app.url}/v2/${path}`, { headers: { 'x-api-key': key } });
      expect([path, response.status]).toEqual([path, 200]);
      return response.json();
    },
    openWithKey: async (apiKey, address) => {
      const opened = await open(address);
      await signIn(opened.page, apiKey);
      await settled(opened.page);
      return opened;
    },
    openFigures: async (address = '', { viewport = VIEWPORT } = {}) => {
      const { page, ...seen } = (shared ??= await blank(await newContext()));
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: 'light' });
      for (const each of Object.values(seen)) each.length = 0;
      await load(shared, address);
      if ((await evaluate(page, 'sessionStorage.length')) === 0) await signIn(page, key);
      await settled(page);
      return shared;
    },
    stop: async () => {
      await browser.close();
      await projecting.stop();
      await app.close();
    },
  };
};
