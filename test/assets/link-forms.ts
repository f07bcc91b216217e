import { readFileSync } from 'node:fs';

/** From the folder of the project: the compiled attacks read it too. */
const FILE = 'test/assets/link-forms.txt';

export interface LinkForm {
  readonly form: string;
  /** `TYPE name`; undefined: no profile, app, collection or content. */
  readonly reading: string | undefined;
}

/** Every form in `link-forms.txt`. */
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

/** Types that a form read as `none` may have: pages and hosts that are nobody's profile. */
export const IMPERSONAL: ReadonlySet<string> = new Set(['URL', 'PAGE']);
