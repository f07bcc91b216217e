import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { printable, printableJson, printableLines } from '../../src/runtime/terminal.js';

/** One character of each harmful kind, and its escaped form. */
const HARMFUL: readonly (readonly [name: string, character: string, shown: string])[] = [
  ['NUL', '\u0000', '\\u{0}'],
  ['line feed', '\n', '\\u{A}'],
  ['carriage return', '\r', '\\u{D}'],
  ['escape', '\u001b', '\\u{1B}'],
  ['delete', '\u007f', '\\u{7F}'],
  ['control sequence introducer', '\u009b', '\\u{9B}'],
  ['soft hyphen', '\u00ad', '\\u{AD}'],
  ['Arabic letter mark', '\u061c', '\\u{61C}'],
  ['zero-width space', '\u200b', '\\u{200B}'],
  ['zero-width joiner', '\u200d', '\\u{200D}'],
  ['left-to-right mark', '\u200e', '\\u{200E}'],
  ['right-to-left mark', '\u200f', '\\u{200F}'],
  ['line separator', '\u2028', '\\u{2028}'],
  ['paragraph separator', '\u2029', '\\u{2029}'],
  ['left-to-right embedding', '\u202a', '\\u{202A}'],
  ['right-to-left override', '\u202e', '\\u{202E}'],
  ['word joiner', '\u2060', '\\u{2060}'],
  ['left-to-right isolate', '\u2066', '\\u{2066}'],
  ['pop directional isolate', '\u2069', '\\u{2069}'],
  ['Hangul filler', '\u3164', '\\u{3164}'],
  ['variation selector', '\ufe0f', '\\u{FE0F}'],
  ['byte order mark', '\ufeff', '\\u{FEFF}'],
  ['annotation mark', '\ufff9', '\\u{FFF9}'],
  ['half of a pair', '\ud83d', '\\u{D83D}'],
  ['tag', '\u{e0041}', '\\u{E0041}'],
];

describe('Terminal output', () => {
  it.each(HARMFUL)('escapes a %s', (_, character, shown) => {
    expect(printable(`a${character}b`)).toBe(`a${shown}b`);
  });

  it('leaves harmless text in any script unchanged', () => {
    for (const text of ['', 'München 東京 עברית العربية 😀 — “quoted” \\u{202E}', 'C:\\new\\table'])
      expect(printable(text)).toBe(text);
  });

  it('indents every line of a text except the first, so that no line can forge a log line', () => {
    expect(printableLines('Error: one\n    at here\r\nERROR forged\u001b[31m')).toBe(
      'Error: one\n    at here\n    ERROR forged\\u{1B}[31m',
    );
  });

  it('escapes JSON without changing its value', () => {
    for (const [, character, shown] of HARMFUL) {
      const json = printableJson(JSON.stringify({ [`a${character}`]: character }));
      expect([shown, printable(json)]).toEqual([shown, json]);
      expect(JSON.parse(json)).toEqual({ [`a${character}`]: character });
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        const escaped = printableJson(json);
        return printable(escaped) === escaped && JSON.stringify(JSON.parse(escaped)) === json;
      }),
    );
  });
});

describe('tryWriteLines', () => {
  it('drops lines without waiting once 1 MiB is unread', async () => {
    const terminal = pathToFileURL('dist/src/runtime/terminal.js').href;
    const program = `
      const { tryWriteLines } = await import('${terminal}');
      let taken = 0;
      while (taken < 100 && tryWriteLines('x'.repeat(65_535) + '\\n')) taken += 1;
      await new Promise(setImmediate);
      process.stderr.write(String(taken), () => process.exit());`;
    // The child's standard output is a pipe that nobody reads.
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    await once(child, 'close');
    expect(Number(output)).toBeGreaterThanOrEqual(16);
    expect(Number(output)).toBeLessThan(40);
  });
});
