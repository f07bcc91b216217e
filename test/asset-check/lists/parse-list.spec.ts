import { describe, expect, it } from '@jest/globals';
import { Collector } from '../../../src/asset-check/lists/collector.js';
import { HostingSuffixes } from '../../../src/asset-check/lists/hosting-suffixes.js';
import { forEachEntry } from '../../../src/asset-check/lists/parse-list.js';
import { cpuMs } from '../../support/cpu.js';
import { Random } from '../../support/random.js';
import { brief, listOf } from '../../support/list-of.js';

const suffixes = new HostingSuffixes();

/** Returns the entries of a document that arrives in the given chunks. */
const textsOf = async (format: 'plain' | 'hosts', chunks: readonly Buffer[]): Promise<string[]> => {
  const collector = new Collector(suffixes, { pages: true, accounts: true }, 0);
  const texts: string[] = [];
  await forEachEntry({ chunks, size: 0 }, format, collector, (text) => {
    texts.push(text);
    return true;
  });
  return texts;
};

const cut = (random: Random, bytes: Buffer): Buffer[] => {
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = start + 1 + random.int(random.pick([1, 3, 40, 10_000]));
    chunks.push(bytes.subarray(start, end));
    start = end;
  }
  return chunks;
};

/** A reference parser: reads the documented formats character by character. */
const readSlowly = (format: 'plain' | 'hosts', document: string): string[] => {
  const texts: string[] = [];
  let text = '';
  let isInComment = false;
  let before = '\n';
  for (const character of `${document}\n`) {
    if (character === '\n' || character === '\r') {
      if (text.trim() !== '') texts.push(text.trim());
      text = '';
      isInComment = false;
    } else if (!isInComment) {
      const isMark = character === '#' || character === '!';
      isInComment = isMark && (format === 'hosts' || before.trim() === '');
      if (!isInComment) text += character;
    }
    before = character;
  }
  return texts;
};

const BLANKS = ['', '', ' ', '\t', ' \t ', '\u00a0', '\ufeff', '\u2028', '\u3000', '\v', '\f'];
const COMMENTS = ['', '', '#', '!', '# note', '! note', '#x.example', '!x.example', '# a\u2028b # c ! d', '## <html>'];
const ENDS = ['\n', '\r', '\r\n', '\n\n', '\r\r', '\n\r'];
const ENTRIES = {
  plain: ['', 'a.example', 'münchen.example', '*.b.example', '.c.example', 'https://d.example/#e', 'f.example/g!h#i'],
  hosts: ['', '0.0.0.0 a.example', '127.0.0.1\tb.example  c.example', '::1 d.example', '::', '216.1.1.1 e.example'],
};

describe.each(['plain', 'hosts'] as const)('Lines of a list in the format %s', (format) => {
  it('are parsed as by a reference parser, with any line ends, comments and chunks', async () => {
    const random = new Random(1);
    for (let run = 0; run < 2_000; run += 1) {
      let document = random.chance(0.3) ? '\ufeff' : '';
      for (let line = random.int(8); line > 0; line -= 1)
        document +=
          random.pick(BLANKS) +
          random.pick(ENTRIES[format]) +
          random.pick(format === 'hosts' ? BLANKS : [' ', '\t', '\u3000']) +
          random.pick(COMMENTS) +
          random.pick(BLANKS) +
          (line === 1 && random.chance(0.5) ? '' : random.pick(ENDS));
      const texts = await textsOf(format, cut(random, Buffer.from(document)));
      expect([document, texts]).toEqual([document, readSlowly(format, document)]);
    }
  });

  it('are read after comments of any length, and rejected if they are too long', async () => {
    const long = 'x '.repeat(200_000);
    const lineOf = (entry: string): string => (format === 'hosts' ? `0.0.0.0 ${entry}` : entry);
    const lines = Array.from({ length: 20 }, (_, n) => lineOf(`site-${n}.example`));
    const { content, check } = await listOf(
      [`${lineOf('evil.example')} # ${long}`, `# ${long} after.example`, lineOf(`y.example ${long}`), ...lines].join(
        '\n',
      ),
      format,
    );
    expect(brief(check('evil.example'))).toBe('BLOCKED evil.example');
    expect(content.table.size).toBe(21);
    expect(content.rejected).toMatchObject([{ reason: 'too-long', count: 1 }]);
  });
});

describe('A line with a rank', () => {
  it.each(['1,x.example', '1 , x.example', '1,"x.example"', '1," x.example " ,9', '1,\t"x.example","a b"'])(
    'may have quotes and white space: %j',
    async (line) => {
      const { check } = await listOf(line, 'csv');
      expect(brief(check('x.example'))).toBe('BLOCKED x.example');
    },
  );

  it('with very much white space is read in proportionate time', async () => {
    const before = cpuMs();
    const blanks = ' '.repeat(2_000);
    await expect(listOf(`1,${blanks}""\n1,"${blanks}x y"`, 'csv')).rejects.toThrow('no usable entries');
    expect(cpuMs() - before).toBeLessThan(500);
  });
});

describe('A document that is not a list', () => {
  const entries = (count: number): string => Array.from({ length: count }, (_, n) => `site-${n}.example\n`).join('');

  it.each([
    ['a page', '<!DOCTYPE html><html><body>evil.example</body></html>'],
    ['a page after a comment of HTML', '\n<!-- generated -->\n<!DOCTYPE html>\n<html>\nevil.example\n'],
    ['a page whose first line is a comment of HTML', `<!-- 404 --> <html>\n<pre>\n${entries(40)}</pre>\n`],
    ['a page after comments and blank lines', `# a list\n! of hosts\n\n\t<body class="x">\n${entries(40)}`],
    ['a page after words', `Service unavailable\n<br/>\n${entries(40)}`],
    ['a page that begins with words', `Not found<hr>\n${entries(40)}`],
    ['a page in capital letters', `<HTML>\n${entries(40)}`],
    ['an error in XML', `<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>\n${entries(40)}`],
    ['an error in JSON', `{\n"error": "not found",\n"see": 1\n}\n${entries(9)}`],
    ['a page after an entry', `site.example\n<html>\n<body>\n`],
    ['words', `The list has moved.\nSee here.\n${entries(10)}`],
    ['a list of filters', '||evil.example^\n||evil2.example^\nevil3.example\n'],
    ['a list of another format', '0.0.0.0 evil.example\n0.0.0.0 evil2.example\nevil3.example\n'],
    ['one line in nine', `not an entry\n${entries(8)}`],
  ])('is rejected completely: %s', async (_, text) => {
    for (const ends of ['\n', '\r', '\r\n'])
      await expect(listOf(text.replaceAll('\n', ends), 'plain')).rejects.toThrow(/web page|cannot be read|no usable/);
  });

  it('is accepted as a list if at most a tenth of the lines cannot be read', async () => {
    const { content } = await listOf(`# <html>\n! <body>\nnot an entry\n${entries(9)}`, 'plain');
    expect(content.table.size).toBe(9);
    expect(content.rejected).toEqual([{ reason: 'unreadable', count: 1, examples: ['not an entry'] }]);
  });
});
