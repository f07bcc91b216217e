import { readFileSync } from 'node:fs';

/** Relative to the project folder, because compiled attacks read the file too. */
const FILE = 'test/support/cases/link-forms.txt';

export interface LinkForm {
  readonly form: string;
  /** `TYPE name`; undefined if the link is not of a profile, app, collection or content. */
  readonly reading: string | undefined;
}

/** Reads all links in `link-forms.txt`. */
export const linkForms = (): LinkForm[] =>
  readFileSync(FILE, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('# '))
    .map((line) => {
      const [written, reading] = line.split(' => ') as [string, string];
      const form = written
        .replaceAll(String.raw`\t`, '\t')
        .replace(/\\u([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
      return { form, reading: reading === 'none' ? undefined : reading };
    });

/** Types of links marked `none`: pages and hosts that are not profiles. */
export const IMPERSONAL: ReadonlySet<string> = new Set(['URL', 'PAGE']);
