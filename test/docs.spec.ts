import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
];

/** A path in the repository as the pages write it. `.ts` may be omitted. A name in capitals is a placeholder. */
const PATH = /`((?:src|projections|test|reliability|docs|bench|deploy|docker|build|\.ci)\/[\w./-]+)`/g;
const LINK = /\]\(([^)#]+)(?:#[^)]*)?\)/g;

const pathsIn = (text: string): string[] =>
  [...text.matchAll(PATH)].map(([, path]) => path!).filter((path) => !/\/[A-Z]+\//.test(path));
const COMMENT = /^\s*(?:\/\/|\/?\*).*/gm;
const filesIn = (source: string): string[] =>
  (source.match(COMMENT) ?? []).flatMap((line) => [...line.matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => name!));
const linksIn = (page: string, text: string): string[] =>
  [...text.matchAll(LINK)]
    .map(([, link]) => link!)
    .flatMap((link) => (/^\w+:/.test(link) ? [] : join(dirname(page), link)));
const isThere = (path: string): boolean => [path, `${path}.ts`].some((name) => existsSync(join(root, name)));

const SOURCES = ['src', 'projections', 'bench', 'build'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?ts$/.test(name))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
);

describe('The comments of the source', () => {
  it('name only files that exist', () => {
    const names = new Set(SOURCES.map((path) => basename(path)));
    const missing = SOURCES.flatMap((path) =>
      filesIn(readFileSync(join(root, path), 'utf8'))
        .filter((name) => !names.has(name))
        .map((name) => `${path}: ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('The operator’s command', () => {
  /** `npx` may fetch a stranger's package; the other spellings need a second definition or an installation. */
  const OTHER_SPELLINGS = /npx threat-protection|npm run (?:--\S+ )*cli\b|\btp (?:keys|brands|flags|events)\b/;
  const OPERATIONS = 'docs/operations/';
  const DEPLOYED = ['deploy', 'docs/operations/systemd'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ya?ml|service|timer)$/.test(name))
      .map((name) => join(folder, name)),
  );

  it('is node dist/src/cli.js in all messages of the program, and on all pages except those for operators', () => {
    const files = [...PAGES, ...SOURCES, ...DEPLOYED, 'docker-compose.yml', 'Dockerfile'];
    expect(files.filter((file) => OTHER_SPELLINGS.test(readFileSync(join(root, file), 'utf8')))).toEqual([]);
    const others = PAGES.filter((page) => !page.startsWith(OPERATIONS));
    const installed = others.filter((page) => /`threat-protection [a-z-]/.test(readFileSync(join(root, page), 'utf8')));
    expect(installed).toEqual([]);
  });

  it('is threat-protection on the pages for operators, each of which says where it comes from', () => {
    const pages = PAGES.filter((page) => page.startsWith(OPERATIONS)).filter((page) => {
      const text = readFileSync(join(root, page), 'utf8');
      const isUsed = /^ *threat-protection (?:--settings|[a-z]+ )/m.test(text);
      const isExplained = /command-line\.md|^## Run an operator's command/m.test(text);
      return /^ *node dist\/src\/cli\.js/m.test(text) || (isUsed && !isExplained);
    });
    expect(pages).toEqual([]);
  });
});

describe('Each curl line of the pages', () => {
  /** What follows `curl` up to the end of the line or of the code in a sentence. A `$` or `-` tells a call from a word. */
  const CALL = /\bcurl (?=[-$'"])([^`\n]*)/g;
  /** Responses that are not shown, or that another program prints; headers end with a line break. */
  const NOT_SHOWN = / -o |\| grep |^-sSI /;

  it('ends a shown response with a line break, so that the prompt begins on a line of its own', () => {
    const calls = PAGES.flatMap((page) =>
      [...readFileSync(join(root, page), 'utf8').matchAll(CALL)].map(([, call]) => `${page}: curl ${call}`),
    );
    expect(calls.length).toBeGreaterThan(60);
    const shown = calls.filter((call) => !NOT_SHOWN.test(call.split(': curl ')[1]!));
    expect(shown.filter((call) => !call.includes(": curl -sSw '\\n' "))).toEqual([]);
  });
});

describe('What each feature owes, in docs/internals/guards.md,', () => {
  const [, section] = readFileSync(join(root, 'docs/internals/guards.md'), 'utf8').split(
    '\n## What each feature owes\n',
  );
  const [promises, , ...features] = section!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const SENTENCE = /^[A-Z].{8,}\.$/;

  it('is a test or a reason for each promise', () => {
    expect([promises!.length, features.length >= 10]).toEqual([12, true]);
    const unanswered = features.flatMap(([feature, ...cells]) =>
      promises!
        .slice(1)
        .filter((_, index) => {
          const cell = cells[index] ?? '';
          const paths = pathsIn(cell).filter((path) => path.endsWith('.spec.ts'));
          return cells.length !== promises!.length - 1 || (paths.length === 0 && !SENTENCE.test(cell));
        })
        .map((promise) => `${feature}: ${promise}`),
    );
    expect(unanswered).toEqual([]);
  });
});

describe('The page', () => {
  it.each(PAGES)('%s names and links only existing files', (page) => {
    const text = readFileSync(join(root, page), 'utf8');
    expect([...pathsIn(text), ...linksIn(page, text)].filter((path) => !isThere(path))).toEqual([]);
  });

  it.each(PAGES)('%s has as many cells in each row of a table as in its head', (page) => {
    const lines = readFileSync(join(root, page), 'utf8')
      .replaceAll(/^ *```.*?^ *```/gms, '')
      .split('\n');
    const cellsOf = (line = ''): number => (/^ *\|/.test(line) ? line.replaceAll('\\|', '').split('|').length : 0);
    const broken = lines.filter((line, index) => {
      const above = cellsOf(lines[index - 1]);
      return above !== 0 && cellsOf(line) !== 0 && cellsOf(line) !== above;
    });
    expect(broken).toEqual([]);
  });
});
