import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What `docs/images/dashboard.json` records when the picture of the dashboard is taken. */
export interface PictureRecord {
  /** The version in `package.json`. */
  readonly version: string;
  /** SHA-256 of the words of the page. */
  readonly words: string;
}

const FOLDER = 'src/dashboard/page';
/** A string literal that begins like a sentence, a heading or the name of a column. */
const LITERAL = /'([A-Z][^'\n]*)'/g;

/** @returns the texts between the tags of a page, and the words in the strings of its scripts */
export const wordsIn = (html: string, scripts: readonly string[]): string[] => [
  ...html
    .replaceAll(/<[^>]*>/g, '\n')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== ''),
  ...scripts.flatMap((script) => [...script.matchAll(LITERAL)].map(([, text]) => text!)).sort(),
];

/** @returns the version and the words of the page as they are now, in the folder of the repository */
export const currentRecord = (): PictureRecord => {
  const scripts = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'));
  const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');
  const words = wordsIn(read('index.html'), scripts.map(read)).join('\n');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  return { version, words: createHash('sha256').update(words).digest('hex') };
};

/** Whether a picture shows the words of an earlier release. Within a release, words may change before the picture. */
export const isOutdated = (recorded: PictureRecord, now: PictureRecord): boolean =>
  recorded.version !== now.version && recorded.words !== now.words;
