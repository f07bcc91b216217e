import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { currentRecord, isOutdated, type PictureRecord, wordsIn } from '../support/picture-words.js';

describe('The picture of the dashboard', () => {
  it('shows the words of this release; otherwise run `npm run picture`', () => {
    const recorded = JSON.parse(readFileSync('docs/images/dashboard.json', 'utf8')) as PictureRecord;
    expect(recorded).toEqual({ version: expect.any(String), words: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(isOutdated(recorded, currentRecord())).toBe(false);
  });

  it.each([
    [{ version: '1.0.0', words: 'a' }, { version: '1.0.0', words: 'b' }, false],
    [{ version: '1.0.0', words: 'a' }, { version: '1.1.0', words: 'a' }, false],
    [{ version: '1.0.0', words: 'a' }, { version: '1.1.0', words: 'b' }, true],
  ])('%j is outdated beside %j: %s', (recorded, now, expected) => {
    expect(isOutdated(recorded, now)).toBe(expected);
  });

  it('is compared by headings, labels and names of columns, not by markup or code', () => {
    const page = '<h2 id="a">Totals</h2>\n<button>Save</button>';
    expect(wordsIn(page, ["const a = ['Type', 'x'];"])).toEqual(['Totals', 'Save', 'Type']);
    expect(wordsIn(page.replace('"a"', '"b"'), ["let b = ['Type', 'y'];"])).toEqual(['Totals', 'Save', 'Type']);
    expect(wordsIn(page.replace('Save', 'Keep'), [])).toEqual(['Totals', 'Keep']);
  });
});
