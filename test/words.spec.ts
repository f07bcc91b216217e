import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

/** Phrasings that are not English as engineers write it, and what to write instead. A blank also matches a line break. */
const PHRASES: readonly (readonly [RegExp, instead: string])[] = [
  [/\blook-ups?\b/, 'lookup (noun), look up (verb)'],
  [/<{7}|>{7}|(?:> ){7}/, 'what the merge should have kept'],
  [/\banew\b/, 'again, from scratch'],
  [/\bso many\b/, 'the number, or "N"'],
  [/\bthe door\b/, 'the ingestion endpoint, the API'],
  [/\bwhoever\b/, 'the caller, the client, the operator'],
  [/\b(?:go|goes|going|went) on\b(?! to\b)/, 'continue'],
  [/\b(?:is|are|was|were|be) away\b/, 'unavailable'],
  [/\bat the most\b/, 'at most'],
  [/\blet(?:s|ting)? go of\b/, 'release, drop'],
  [/\bmend(?:s|ed|ing)?\b/, 'fix, repair'],
  [/\bmanieth\b/, 'the index of'],
  [/\bstands? (?:above|below)\b/, 'is above, see above'],
  [/\bof ours\b/, "our, this service's"],
  [/\bmeanwhile\b/, 'while …, in the meantime'],
  [
    /(?<!\bthere )\b(?:is|are|was|were) no (?!longer|more|less|earlier|later|older|newer|larger|match)[a-z]/,
    'is not a',
  ],
  [/\bto be had\b/, 'available'],
  [/\b(?:there|where|here)(?:by|in|of|upon)\b/, 'say it with a verb'],
  [/\bthose of others\b/, "other organizations'"],
  [/\bdear(?:er)?\b/, 'expensive'],
  [/\btold\b/, 'notified, called, distinguished'],
  [/\bfor ever\b/, 'forever, indefinitely'],
  [/\bonce more\b/, 'again'],
  [/\bone after the other\b/, 'one after another, in turn'],
  [/[,;] for (?:it|they|he|we)\b/, 'because'],
  [/\bwhat (?:was|were|is|are) (?:refused|rejected|asked|sent|said|listed|read|written)\b/, 'name the thing'],
  [/\bnot (?:any|every)(?:body|one)\b/, 'only …, nobody but'],
  [/\bunasked\b/, 'although not requested'],
  [/\bmust be (?:a|one) text\b/, 'must be a string'],
  [/\bthat is not empty\b/, 'non-empty'],
  [/\b(?:with|in) (?:a|one) sentence\b/, 'with a message'],
  [/\bnothing is said\b/, 'nothing is known, no verdict'],
  [/\bas good as\b/, 'nearly'],
  [/\bword for word\b/, 'verbatim'],
];

/** Terms of docs/glossary.md, and other words for the same thing, which would make a reader look for a second thing. */
const SYNONYMS: readonly (readonly [term: string, other: RegExp])[] = [
  ['ingestion endpoint', /\bfront door\b|\bintake\b/],
  ['catch-up subscription', /\bfollower of\b|\bcatchup\b/],
  ['semaphore', /\bturnstile\b/],
  ['single flight', /\boneAtATime\b/],
  ['graceful shutdown', /\borderly[- ]?stop\b|\bstopInOrder\b/],
  ['rebuild', /\bre-?projection\b/],
  ['parked', /\bdead[- ]letter\b|\bquarantin/],
  ['checkpoint', /\bbookmark\b|\bhigh[- ]water\b/],
  ['last-writer-wins row', /\blast write wins\b|\bregister a record\b/],
  ['lookup', /\blookups? over the network\b/],
  ['backpressure', /\bback[- ]pressure\b/],
];

const ROOTS = ['src', 'projections', 'docs', 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];
const TEXTS = /\.(?:ts|js|md|html|css|yml)$/;
const root = join(import.meta.dirname, '..');

const acrossLines = (pattern: RegExp): RegExp => new RegExp(pattern.source.replaceAll(' ', ' +'), 'gi');
const RULES = [
  ...PHRASES.map(([pattern, instead]) => ({ pattern: acrossLines(pattern), instead })),
  ...SYNONYMS.map(([term, pattern]) => ({ pattern: acrossLines(pattern), instead: `${term} (docs/glossary.md)` })),
];

/** Line breaks and the comment marks after them become blanks, so that offsets stay and a phrase may span lines. */
const joined = (text: string): string =>
  text.replace(/\r?\n[ \t]*(?:\*(?!\/)|\/\/)?/g, (match) => ' '.repeat(match.length));

const faultsOf = (path: string, text: string): string[] => {
  const line = joined(text);
  return RULES.flatMap(({ pattern, instead }) =>
    [...line.matchAll(pattern)].map(({ index, 0: found }) => {
      const number = text.slice(0, index).split('\n').length;
      return `${path}:${number} "${found.replace(/ +/g, ' ')}": write ${instead}`;
    }),
  );
};

const textsIn = (path: string): string[] =>
  statSync(join(root, path)).isFile()
    ? [path]
    : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
        .filter((name) => TEXTS.test(name))
        .map((name) => `${path}/${name.replaceAll('\\', '/')}`);

describe('The wording of code and documentation', () => {
  const paths = ROOTS.flatMap(textsIn);

  it('avoids phrasings that were replaced once', () => {
    expect(paths.length).toBeGreaterThan(300);
    expect(paths.flatMap((path) => faultsOf(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
  });

  it('forbids synonyms only of terms that the glossary has', () => {
    const glossary = readFileSync(join(root, 'docs/glossary.md'), 'utf8').toLowerCase();
    expect(SYNONYMS.map(([term]) => term).filter((term) => !glossary.includes(term))).toEqual([]);
  });
});

describe('The rules of wording', () => {
  it('find a planted phrase with file and line, across a line break of a comment too', () => {
    const planted =
      '/**\n * The list is fetched anew, and\n * what it was goes\n * on for now.\n */\nconst turnstile = 1;\n';
    expect(faultsOf('src/a.ts', planted)).toEqual([
      'src/a.ts:2 "anew": write again, from scratch',
      'src/a.ts:3 "goes on": write continue',
      'src/a.ts:6 "turnstile": write semaphore (docs/glossary.md)',
    ]);
    expect(faultsOf('docs/a.md', '<<<<<<< HEAD\n')).toHaveLength(1);
  });

  it.each([
    'There is no such group.',
    'The key is no longer valid.',
    'The figure is no more than a guess.',
    'It goes on to the next host.',
  ])('allow %j', (text) => {
    expect(faultsOf('docs/a.md', text)).toEqual([]);
  });
});
