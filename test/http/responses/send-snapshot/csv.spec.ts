import { describe, expect, it } from '@jest/globals';
import { csvLine } from '../../../../src/http/responses/send-snapshot.js';

describe('A line of CSV', () => {
  it('quotes characters that would end a cell or a line', () => {
    expect(csvLine(['a', 1, 'b,c', 'say "x"', 'two\nlines', '', 'é'])).toBe(
      'a,1,"b,c","say ""x""","two\nlines",,é\r\n',
    );
  });

  const SIGNS = [...'=+-@＝＋－＠﹦﹢﹣﹫'].map((sign) => `${sign}1+1`);
  const CONTROLS = ['\t=1', '\r=1', '\n=1', '\r\n=1', '\v=1', '\f=1', '\0=1', '\tplain', '\nplain', '\rplain'];
  const AFTER_BLANKS = [' =1', '\u00a0=1', '\u3000＝1', '\ufeff=1', '\u200b@SUM(A1)', ' \n -1', '\u2028+1'];
  const FORMULAS = [...SIGNS, ...CONTROLS, ...AFTER_BLANKS];
  const TEXTS = ['1+1', 'a=1', ' a', 'https://evil.example/?a=1', 'é-1', "'=1", '#=1', '–1', 'x\n=1', ' x'];

  it.each(FORMULAS)('escapes %j, so that a spreadsheet shows it as text', (formula) => {
    expect(csvLine([formula]).replace(/^"/, '')).toBe(csvLine([`'${formula}`]).replace(/^"/, ''));
  });

  it.each(TEXTS)('does not change %j', (text) => {
    expect(csvLine([text]).replaceAll('"', '')).toBe(`${text}\r\n`);
  });

  it('is the same in a table that the dashboard exports', async () => {
    const page = '../../../../src/dashboard/page/csv.js';
    const { csvOf } = (await import(page)) as { csvOf: (columns: string[], rows: string[][]) => string };
    for (const text of [...FORMULAS, ...TEXTS, 'a,b', 'say "x"']) expect(csvOf([text], [])).toBe(csvLine([text]));
  });
});
