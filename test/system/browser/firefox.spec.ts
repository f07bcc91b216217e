import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { findFirefox, type Firefox, launchFirefox } from '../../support/firefox.js';
import { sharedApp, sharedProjecting } from '../../support/open-for-tests.js';
import { describeWith } from '../../support/tools.js';
import { contentReporter } from '../../support/upstream.js';

const app = sharedApp({ env: { LISTS: 'on' } });
sharedProjecting(app);
const report = contentReporter(() => app.log);

describeWith(findFirefox() !== undefined, 'firefox-esr (apt-get install firefox-esr)')('Firefox', () => {
  const profile = mkdtempSync(join(tmpdir(), 'firefox-'));
  /** Has a page of every host. */
  let web: Server;
  let firefox: Firefox | undefined;
  let key: string;

  beforeAll(async () => {
    web = createServer((request, response) => response.end(`<title>${request.url}</title>`));
    web.on('connect', (_, socket) => socket.destroy());
    await once(web.listen(0, '127.0.0.1'), 'listening');
    key = await app.issueKey({ scopes: ['lists'] });
  });
  afterEach(() => firefox?.close());
  afterAll(async () => {
    web.closeAllConnections();
    web.close();
    rmSync(profile, { recursive: true, maxRetries: 5 });
  });

  /** Starts Firefox with the settings of docs/guides/local-lists.md. It asks for the lists at once. */
  const start = async (): Promise<void> => {
    const google = 'browser.safebrowsing.provider.google5';
    firefox = await launchFirefox(profile, (web.address() as AddressInfo).port, {
      [`${google}.updateURL`]: `${app.url}/v5/hashLists:batchGet?key=${key}`,
      [`${google}.gethashURL`]: `${app.url}/v5/hashes:search?key=${key}`,
      [`${google}.nextupdatetime`]: '1',
    });
  };

  const search = async (): Promise<number> =>
    (await app.call(`/v5/hashes:search?hashPrefixes=AAAAAA%3D%3D&key=${key}`)).status;

  const warnedOf = (link: string): Promise<void> =>
    eventually(`Firefox warns of ${link}`, async () => (await firefox!.open(link)).startsWith('about:blocked'));

  it('warns of what the lists of the service block, and follows their changes', async () => {
    await report(['evil.example'], { status: 'BLOCKED' });
    await eventually('all names are stored', async () => (await search()) === 200);
    await start();
    for (const link of ['http://evil.example/', 'http://www.evil.example/a?b']) await warnedOf(link);
    expect(await firefox!.open('http://good.example/')).toBe('http://good.example/');
    await firefox!.close();
    await report(['evil.example'], { status: 'ALLOWED' });
    await report(['new.example'], { status: 'BLOCKED' });
    await start();
    await warnedOf('http://new.example/');
    expect(await firefox!.open('http://evil.example/')).toBe('http://evil.example/');
  }, 120_000);
});
