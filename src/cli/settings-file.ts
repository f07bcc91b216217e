import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, isForeign, settingNames, sourcesFileOf } from '../runtime/config.js';
import { say } from '../runtime/terminal.js';

/** Maximum size of a settings file, and number of files in a folder. Both are far more than all settings need. */
const MAX_BYTES = 256 * 1024;
const MAX_FILES = 1_000;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const BLANK = /[ \t]*(?:[#;]([^\n]*))?(?:\n|$)/y;
const BEFORE_VALUE = /[ \t]*(?:export[ \t]+)?([^=\n]*?)[ \t]*=[ \t]*/y;
const END_OF_LINE = /[ \t]*(?:\n|$)/y;
/** Unlike a lone `$`, Docker Compose replaces these by the value of a variable, or by one `$`. */
const INTERPOLATED = /\$[$A-Za-z_{]/;

const QUOTE_IT = 'put the value into single quotes';
const DOLLAR = `systemd keeps "$" and Docker Compose replaces it by a variable; ${QUOTE_IT}`;

/** How a value may be written: in single quotes, in double quotes, or plain. */
interface Notation {
  readonly found: RegExp;
  /** Escapes that all readers read alike: the character is part of the value, and a line break is not. */
  readonly escapes: RegExp;
  /** Texts, apart from these escapes, that systemd and Docker Compose read differently. */
  readonly ambiguous: readonly (readonly [found: RegExp, problem: string])[];
}

const NOTATIONS: readonly Notation[] = [
  {
    found: /'([^']*)'/y,
    escapes: /(?!)/g,
    ambiguous: [
      [/\\$/, 'Docker Compose does not end the value at "\\\'"; write it in double quotes, with "\\\\" for "\\"'],
    ],
  },
  {
    found: /"([^"\\]*(?:\\[^][^"\\]*)*)"/y,
    escapes: /\\(["\\$`\n])/g,
    ambiguous: [
      [/\\/, `systemd keeps this "\\" and Docker Compose does not; ${QUOTE_IT}`],
      [INTERPOLATED, DOLLAR],
    ],
  },
  {
    found: /(?!["'])([^\\\n]*(?:\\[^][^\\\n]*)*\\?)/y,
    escapes: /\\(\n)/g,
    ambiguous: [
      [/\\/, `systemd removes "\\" and Docker Compose keeps it; ${QUOTE_IT}`],
      [
        /^#|[ \t]#/,
        `systemd reads "#" as part of the value and Docker Compose as a comment; remove it, or ${QUOTE_IT}`,
      ],
      [INTERPOLATED, DOLLAR],
    ],
  },
];

/**
 * Parses an environment file. systemd (`EnvironmentFile=`), Docker Compose (`env_file`, `.env`) and Kubernetes
 * (`--from-env-file`) share most of the syntax. What has a meaning for only one of them is read in this meaning:
 * comments that begin with `;` and a backslash at the end of a line (systemd), `export` (Docker Compose). What has
 * different meanings is refused, because the command would work with other settings than the service.
 * @param source the name of the file in error messages, which never contain a value
 * @throws ConfigError with the number of the line
 */
export const parseSettings = (file: string, source: string): Readonly<Record<string, string>> => {
  const text = file.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n');
  const settings: Record<string, string> = {};
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  while (at < text.length) {
    const start = at;
    const refuse = (problem: string): never => {
      throw new ConfigError(`${source}, line ${text.slice(0, start).split('\n').length}: ${problem}`);
    };
    const blank = take(BLANK);
    if (blank?.[1]?.endsWith('\\')) refuse('some versions of systemd continue a comment after "\\"; remove the "\\"');
    if (blank !== null) continue;
    const [, name = ''] = take(BEFORE_VALUE) ?? refuse('this is not an assignment; write NAME=value');
    if (!NAME.test(name)) refuse('a name consists of letters, digits and "_", and does not begin with a digit');
    let written: string | undefined;
    const notation = NOTATIONS.find(({ found }) => (written = take(found)?.[1]) !== undefined);
    if (notation === undefined || written === undefined) return refuse(`${name}: the value has no closing quote`);
    if (take(END_OF_LINE) === null) refuse(`${name}: there is text after the closing quote; remove it`);
    const { escapes, ambiguous } = notation;
    const problem = ambiguous.find(([found]) => found.test(written!.replace(escapes, '')))?.[1];
    if (problem !== undefined) refuse(`${name}: ${problem}`);
    const value = written.replace(escapes, (_, escaped: string) => (escaped === '\n' ? '' : escaped));
    if (/[^\P{Cc}\n\t]/u.test(value)) refuse(`${name}: the value contains a control character; remove it`);
    settings[name] = notation === NOTATIONS.at(-1) ? value.trimEnd() : value;
  }
  return settings;
};

const decode = (bytes: Buffer, source: string): string => {
  if (bytes.length > MAX_BYTES) throw new ConfigError(`${source} is larger than ${MAX_BYTES} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ConfigError(`${source} is not UTF-8`);
  }
};

/** Reads a folder in which each file is a setting, as Kubernetes mounts a Secret or a ConfigMap. */
const readFolder = (folder: string): Readonly<Record<string, string>> => {
  const files = readdirSync(folder).filter((name) => !name.startsWith('..'));
  if (files.length > MAX_FILES) throw new ConfigError(`${folder} contains more than ${MAX_FILES} files`);
  const settings: Record<string, string> = {};
  for (const name of files) {
    const path = join(folder, name);
    const isSetting = NAME.test(name) && statSync(path).isFile();
    if (isSetting) settings[name] = decode(readFileSync(path), path).replace(/\r?\n$/, '');
    else say(`${path} is not used: a setting is a file whose name consists of letters, digits and "_"`);
  }
  return settings;
};

/**
 * Reads settings from an environment file, or from a folder with one file per setting.
 * @throws ConfigError if the file cannot be read or understood; the message never contains a value
 */
export const readSettings = (path: string): Readonly<Record<string, string>> => {
  try {
    return statSync(path).isDirectory() ? readFolder(path) : parseSettings(decode(readFileSync(path), path), path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(`--settings ${path} cannot be read: ${(error as Error).message}`);
  }
};

/** The number of letters to insert, delete or replace to make one text of the other. */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, otherLetter] of [...other].entries())
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === otherLetter ? 0 : 1)));
    row = next;
  }
  return row.at(-1)!;
};

/** Returns the known name that is most like an unknown one, if more than two thirds of the letters are the same. */
const nearestOf = (name: string, known: ReadonlySet<string>): string | undefined =>
  [...known]
    .map((each) => ({ each, letters: distance(name, each) }))
    .filter(({ each, letters }) => letters < Math.max(each.length, name.length) / 3)
    .sort((a, b) => a.letters - b.letters)[0]?.each;

/**
 * The variables that the sources file refers to.
 * @returns undefined if the sources file cannot be read, which is the error of the calls that need the file
 */
const namesOfSources = async (): Promise<ReadonlySet<string> | undefined> => {
  const names = new Set<string>();
  const variable = (name: string): string => {
    names.add(name);
    return 'value';
  };
  try {
    const { readSourcesFile } = await import('../asset-check/sources/sources-file.js');
    readSourcesFile({ sourcesFile: sourcesFileOf(), variable });
    return names;
  } catch {
    return undefined;
  }
};

/**
 * Refuses names of a settings file that are neither settings nor variables of other programs: the misspelt setting would
 * have its default. Call this function when the settings of all files are in the environment.
 * @param source the name of the file in error messages
 * @throws ConfigError with the setting that was probably meant
 */
export const requireKnownNames = async (names: readonly string[], source: string): Promise<void> => {
  const settings = settingNames();
  const unknown = names.filter((name) => !settings.has(name) && !isForeign(name));
  if (unknown.length === 0) return;
  const ofSources = await namesOfSources();
  const known = new Set([...settings, ...(ofSources ?? [])]);
  for (const name of unknown) {
    const nearest = nearestOf(name, known);
    if (ofSources?.has(name) === true || (ofSources === undefined && nearest === undefined)) continue;
    const advice =
      nearest === undefined
        ? 'remove it; docs/reference/settings.md lists the settings, and the sources file may refer to further variables'
        : `did you mean ${nearest}?`;
    throw new ConfigError(`${source}: ${name} is unknown; ${advice}`);
  }
};
