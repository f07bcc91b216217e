import { describe, expect, it } from '@jest/globals';
import { csvLine } from '../../../src/http/answers/csv.js';

describe('A line of CSV', () => {
  it('quotes characters that would end a cell or a line', () => {
    expect(csvLine(['a', 1, 'b,c', 'say "x"', 'two\nlines', '', 'é'])).toBe(
      'a,1,"b,c","say ""x""","two\nlines",,é\r\n',
    );
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1'])('makes a spreadsheet show %j as text', (formula) => {
    expect(csvLine([formula]).replace(/^"/, '')).toMatch(/^'/);
  });
});
