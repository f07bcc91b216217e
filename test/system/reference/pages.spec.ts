import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { format } from 'prettier';
import { errorsPage } from './errors.js';
import { eventTypesPage } from './event-types.js';
import { LIMITS } from '../../../src/limits.js';
import { fileOf, limitsPage, SOURCES } from './limits.js';
import { settingsPage } from './settings.js';
import { waitingPage } from './waiting.js';

const root = join(import.meta.dirname, '../../..');
const IS_RECORDING = process.env['RECORD_PAGES'] === '1';

describe('The generated pages', () => {
  it.each([
    ['reference/errors.md', errorsPage],
    ['reference/event-types.md', eventTypesPage],
    ['reference/limits.md', limitsPage],
    ['reference/settings.md', settingsPage],
    ['internals/waiting.md', waitingPage],
  ])('include an up-to-date %s, which `npm run record` writes', async (name, pageOf) => {
    const path = join(root, 'docs', name);
    const page = await format(await pageOf(), {
      parser: 'markdown',
      singleQuote: true,
      printWidth: 120,
      proseWrap: 'never',
    });
    if (IS_RECORDING) writeFileSync(path, page);
    expect(readFileSync(path, 'utf8')).toBe(page);
  });
});

describe('limits.md', () => {
  const files = (text: string): string[] =>
    [...SOURCES].flatMap(([path, source]) => (source.includes(text) ? [path] : []));
  const rows = LIMITS.map((limit) => ({ ...limit, file: fileOf(limit) }));

  it('has the limits of every file that declares some', () => {
    const declaring = ["/limits.js'", 'declareQueue(', 'declareBytes(', 'declareWaiting('].flatMap(files);
    const blocks = ['src/event-log/command-queue.ts', 'src/flow/budgets.ts', 'src/flow/concurrency-limit.ts'];
    expect(new Set([...rows.map(({ file }) => file), ...blocks])).toEqual(new Set(declaring));
  });

  it('names every file that returns a 429', () => {
    for (const path of files('new TooManyRequests('))
      expect([path, SOURCES.get(path)]).toEqual([
        path,
        expect.stringMatching(/\b(?:limit|limitBySetting)\([^;]*'429\b/),
      ]);
  });

  it('has each limit in one section', () => {
    expect(rows.length).toBeGreaterThan(100);
    expect(
      limitsPage()
        .split('\n')
        .filter((line) => /^\| (?!applies|---)/.test(line)),
    ).toHaveLength(rows.length);
  });
});
