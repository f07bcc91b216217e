import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { format } from 'prettier';
import { errorsPage } from './errors.js';
import { eventTypesPage } from './event-types.js';
import { limitsPage, REJECTING } from './limits.js';
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
    const page = await format(pageOf(), { parser: 'markdown', singleQuote: true, printWidth: 120 });
    if (IS_RECORDING) writeFileSync(path, page);
    expect(readFileSync(path, 'utf8')).toBe(page);
  });
});

describe('limits.md', () => {
  it('names every file that returns a 429', () => {
    const answering = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `src/${name.replaceAll('\\', '/')}`)
      .filter((path) => readFileSync(join(root, path), 'utf8').includes('new TooManyRequests('));
    expect(REJECTING).toEqual(new Set(answering));
  });
});
