import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

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
const RULES = SYNONYMS.map(([term, pattern]) => ({
  pattern: acrossLines(pattern),
  instead: `${term} (docs/glossary.md)`,
}));

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

describe('The words of code and documentation', () => {
  const paths = ROOTS.flatMap(textsIn);

  it('has one word for one thing', () => {
    expect(paths.length).toBeGreaterThan(300);
    expect(paths.flatMap((path) => faultsOf(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
  });

  it('forbids synonyms only of terms that the glossary has', () => {
    const glossary = readFileSync(join(root, 'docs/glossary.md'), 'utf8').toLowerCase();
    expect(SYNONYMS.map(([term]) => term).filter((term) => !glossary.includes(term))).toEqual([]);
  });
});

describe('The rule of words', () => {
  it('finds a planted synonym with file and line, across a line break of a comment too', () => {
    expect(faultsOf('src/a.ts', '/**\n * Its front\n * door.\n */\nconst turnstile = 1;\n')).toEqual([
      'src/a.ts:2 "front door": write ingestion endpoint (docs/glossary.md)',
      'src/a.ts:5 "turnstile": write semaphore (docs/glossary.md)',
    ]);
  });
});
