import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { evaluate } from './opened-dashboard.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** The rules whose findings depend on the color scheme. */
const OF_COLORS = ['color-contrast', 'link-in-text-block'];

const findings = (page: Page, options: object): Promise<string[]> =>
  evaluate(
    page,
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations
      .map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  );

/**
 * Returns the findings of axe-core in the page as it is now: of all rules with light colors, and of the rules that
 * depend on colors with dark ones. The page has light colors afterwards.
 */
export const axeFindings = async (page: Page): Promise<{ light: string[]; dark: string[] }> => {
  await page.evaluate(await readFile(AXE, 'utf8'));
  const light = await findings(page, {});
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await findings(page, { runOnly: OF_COLORS });
  await page.emulateMedia({ colorScheme: 'light' });
  return { light, dark };
};
