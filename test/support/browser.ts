import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's; nothing is downloaded. */
const PATH = process.env['CHROMIUM'] ?? '/usr/bin/chromium';

/** A spec without it is skipped, and says so. */
export const hasChromium = existsSync(PATH);
if (!hasChromium) process.stderr.write(`Skipped: no Chromium at ${PATH}; set CHROMIUM, or apt-get install chromium\n`);

/** Headless. In a container its own sandbox cannot start; the pages are ours. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: PATH, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
