import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { format } from 'prettier';
import { eventTypesPage } from './event-types.js';

const PAGE = join(import.meta.dirname, '../../../docs/reference/event-types.md');
const IS_RECORDING = process.env['RECORD_EXAMPLES'] === '1';

describe('The page of event types', () => {
  it(
    IS_RECORDING ? 'is written' : 'says what declarations and projections say: `npm run record` writes it',
    async () => {
      const page = await format(eventTypesPage(), { parser: 'markdown', singleQuote: true, printWidth: 120 });
      if (IS_RECORDING) writeFileSync(PAGE, page);
      expect(readFileSync(PAGE, 'utf8')).toBe(page);
    },
  );
});
