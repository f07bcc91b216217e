import { existsSync } from 'node:fs';
import { describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';

/** Debian's; nothing is downloaded. */
const PATH = '/usr/bin/chromium';

const hasChromium = existsSync(PATH);
if (!hasChromium) process.stderr.write(`No Chromium (apt-get install chromium) at ${PATH}: pages are not tested.\n`);
export const describeWithChromium = hasChromium ? describe : describe.skip;

/** Headless. In a container its own sandbox cannot start; the pages are ours. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: PATH, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
