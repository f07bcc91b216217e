import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

/** What `CHROMIUM` names, else the first on the PATH; undefined where none is. Nothing is downloaded. */
const findChromium = (): string | undefined => {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [process.env['CHROMIUM'] ?? [], onPath].flat().find(isProgram);
};

const executablePath = findChromium();
if (executablePath === undefined)
  process.stderr.write(
    'No Chromium on the PATH (apt-get install chromium), or named by CHROMIUM: pages are not tested.\n',
  );
export const describeWithChromium = executablePath === undefined ? describe.skip : describe;

/** Headless. In a container its own sandbox cannot start; the pages are ours. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update'],
  });
