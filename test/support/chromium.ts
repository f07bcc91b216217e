import { type Browser, chromium } from 'playwright-core';
import { findProgram } from './find-program.js';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Returns the path of Chromium: `CHROMIUM`, else the first one on the PATH, else undefined. */
export const findChromium = (): string | undefined => findProgram(NAMES, process.env['CHROMIUM']);

/** Starts a headless Chromium, without its sandbox because that cannot start in a container. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update'],
  });
