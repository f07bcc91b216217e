import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { listApiKeys, revokeApiKey } from '../../../src/api-keys/api-keys.js';
import { KeyRing } from '../../../src/api-keys/key-ring.js';
import { dashboard, evaluate, settled, signIn, totals } from './opened-dashboard.js';

const NO_KEY = 'This is not a valid key: it may be mistyped, revoked, expired, or without an organization.';

const problem = (page: Page) => page.locator('#problem');

export const keyAndFailures = () =>
  describe('with keys and failures', () => {
    it('keeps the key for the tab only, and forgets the key when the user signs out', async () => {
      const { page } = await dashboard.open();
      await signIn(page, `X-API-KEY: ${dashboard.key}`);
      await settled(page);
      expect(page.url()).not.toContain(dashboard.key);
      const stored = `[Object.keys(localStorage), document.cookie, Object.values(sessionStorage)]`;
      expect(await evaluate(page, stored)).toEqual([['threat-protection-visit:acme'], '', [dashboard.key]]);
      await page.reload();
      await settled(page);
      const other = await page.context().newPage();
      await other.goto(`${dashboard.app.url}/dashboard`);
      await other.locator('#key').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      expect(await evaluate(page, stored)).toEqual([['threat-protection-visit:acme'], '', []]);
      expect(await evaluate(page, `document.activeElement.id`)).toBe('key');
      expect(await page.locator('#figures').textContent()).not.toMatch(/acme|Wallet|=1\+1/);
      await page.reload();
      expect(await page.locator('#key').isVisible()).toBe(true);
    });

    it('shows a message if a key is invalid or lacks the scope', async () => {
      const { page } = await dashboard.open();
      for (const invalidKey of ['tp_wrong', 'ключ', `${dashboard.key.slice(0, -1)}!`]) {
        await signIn(page, invalidKey);
        await problem(page).getByText(NO_KEY, { exact: true }).waitFor();
        expect(await page.locator('#key').isVisible()).toBe(true);
        expect(await evaluate(page, 'sessionStorage.length')).toBe(0);
      }
      await signIn(page, await dashboard.app.issueKey({ organization: 'acme', scopes: ['write'] }));
      await problem(page).getByText('This key does not have access: The key lacks the scope read.').waitFor();
    });

    it('reports that a key is revoked, hides the data, and sends no more requests', async () => {
      const revoked = await dashboard.app.issueKey({ organization: 'acme', scopes: ['read'] });
      const { page, asked } = await dashboard.openWithKey(revoked);
      const { log } = dashboard.app;
      await revokeApiKey(log, (await listApiKeys(log)).at(-1)!.id);
      await dashboard.app.app.get(KeyRing).refresh();
      await page.clock.fastForward(31_000);
      await problem(page).getByText(NO_KEY, { exact: true }).waitFor();
      expect([await page.locator('#key').isVisible(), await page.locator('#figures').isVisible()]).toEqual([
        true,
        false,
      ]);
      asked.length = 0;
      await page.clock.fastForward(120_000);
      expect([asked, await problem(page).textContent()]).toEqual([[], NO_KEY]);
    });

    it('reports a network failure, keeps the displayed data, and recovers afterwards', async () => {
      const { page } = await dashboard.openFigures();
      const totalsBefore = await totals(page);
      await page.context().setOffline(true);
      await page.clock.fastForward(31_000);
      await problem(page).getByText('The service cannot be reached. Check your network. Retrying').waitFor();
      expect(await totals(page)).toEqual(totalsBefore);
      // Figures of one range are not shown as those of another.
      await page.locator('.choices').getByText('7 days').click();
      await page.locator('#totals').getByText('Not available.').waitFor();
      await page.context().setOffline(false);
      await page.locator('.figure').first().waitFor();
      expect(await problem(page).textContent()).toBe('');
    });

    it.each([
      [429, { 'retry-after': '90' }, 'wait a little. Retrying in 90 seconds.'],
      [503, { 'x-request-id': 'r1' }, 'has a problem (503: wait a little, request r1). Retrying in 30 seconds.'],
    ])('explains a %d and announces when it retries', async (status, headers, words) => {
      const { page } = await dashboard.openFigures();
      await page.route('**/takedowns/statistics*', (route) =>
        route.fulfill({ status, headers, json: { code: 'X', message: 'wait a little' } }),
      );
      await page.reload();
      await problem(page).getByText(words).waitFor();
      // If one panel fails, the others still show their data.
      expect((await totals(page))['reports']).toBe('1');
      expect(await page.locator('#takedowns .summary').textContent()).toBe('Not available.');
    });
  });
