/**
 * Takes the picture of the dashboard in README.md, from the demo's data: `npm run picture`. The demo runs in a folder of
 * its own, which is removed afterwards. The version and the words of the page are recorded beside the picture; a spec
 * compares them with the page. Chromium is the one of the browser tests: `CHROMIUM`, or the first on the PATH.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { launchChromium } from '../../dist/test/support/chromium.js';
import { currentRecord } from '../../dist/test/support/picture-words.js';

const PICTURE = join(import.meta.dirname, 'dashboard.png');
const RECORD = join(import.meta.dirname, 'dashboard.json');
const YEAR = '?range=custom&startDate=2025-01-01&endDate=2025-12-31';

const folder = await mkdtemp(join(tmpdir(), 'threat-protection-picture-'));
// The user of the embedded PostgreSQL enters the folder; otherwise the database would be elsewhere, and stay.
await chmod(folder, 0o711);
// The picture is the same whether or not this machine can fetch the lists.
const sources = join(folder, 'sources.json');
await writeFile(sources, JSON.stringify({ sources: [{ id: 'own', kind: 'own' }] }));
const demo = spawn(process.execPath, ['dist/src/cli.js', 'demo'], {
  env: { ...process.env, DATA_DIR: folder, PORT: '0', SOURCES_FILE: sources },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(demo, 'exit');

/** What the demo prints once its data is counted: where the dashboard is, and the file with its key. */
const readPlaces = async () => {
  let url;
  for await (const line of createInterface(demo.stdout)) {
    url ??= /The dashboard: ([^?]+)/.exec(line)?.[1];
    const file = /paste the line in ([^)]+)\)/.exec(line)?.[1];
    if (file !== undefined) return { url, file };
  }
  throw new Error('The demo has ended; see its words above');
};

try {
  const { url, file } = await readPlaces();
  const browser = await launchChromium();
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
    await page.goto(url + YEAR);
    await page.fill('#key', (await readFile(file, 'utf8')).trim());
    await page.keyboard.press('Enter');
    await page.fill('#content', 'https://polkadot-dot.info/login');
    await page.click('#check button');
    await page.waitForSelector('.status.blocked');
    await page.waitForSelector('#figures:not([aria-busy]) .figure');
    await page.waitForFunction("document.querySelector('#webhooks table td')?.textContent === 'Active'");
    await page.locator('h1').click();
    // The first screens of the page; README shows no more.
    await page.screenshot({ path: PICTURE, fullPage: true, clip: { x: 0, y: 0, width: 1280, height: 1400 } });
    await writeFile(RECORD, `${JSON.stringify(currentRecord(), undefined, 2)}\n`);
  } finally {
    await browser.close();
  }
} finally {
  demo.kill('SIGINT');
  await ended;
  await rm(folder, { recursive: true, force: true });
}
