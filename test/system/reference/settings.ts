import { ConfigError, readConfig } from '../../../src/runtime/config.js';
import { readSource } from './constants.js';

const CONFIG = 'src/runtime/config.ts';
const SOURCE = readSource(CONFIG);
/** The settings of traces are read only if a collector is configured. */
const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

/** Returns the text of the doc comment that ends before this index. */
const commentBefore = (index: number): string => {
  const before = SOURCE.slice(0, index);
  const from = before.lastIndexOf('/**');
  const to = before.lastIndexOf('*/');
  return before
    .slice(from + 3, to)
    .replaceAll(/\s*\n\s*\*?\s*/g, ' ')
    .trim();
};

/** Returns the comment of the property that holds the setting, or of the call that reads it. */
const meaningOf = (name: string): string => {
  const [, constant] = new RegExp(String.raw`const (\w+) = \w+\(\s*'${name}'`).exec(SOURCE) ?? [];
  const property = SOURCE.search(new RegExp(String.raw`^ +(?:${constant ?? String.raw`\w+: [^\n]*\('${name}'`})`, 'm'));
  return commentBefore(property === -1 ? SOURCE.indexOf(`('${name}'`) : property);
};

/**
 * Returns the value that is used if the variable is absent.
 * @throws Error if the call that reads the variable does not contain the value
 */
export const defaultOf = (name: string): string | undefined =>
  new RegExp(String.raw`'${name}'(?:,\s*|\) \?\? )'([^']*)'`).exec(SOURCE)?.[1];

/** Returns the allowed values, as the error message for an impossible value states them. */
const allowedOf = (name: string): string => {
  try {
    readConfig({ ...COLLECTOR, [name]: '\u0000' });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [, allowed] = /\b(?:must be a|must be|may be|must begin with|may hold) (.*)$/.exec(error.message) ?? [];
    if (allowed !== undefined)
      return allowed.replaceAll(/\b(https?|postgres(?:ql)?|esdb|kurrentdb|kurrent|kdb)(\+discover)?:\/\//g, '`$&`');
  }
  return 'text';
};

const rowOf = (name: string): string => {
  const meaning = meaningOf(name);
  if (meaning.length < 20) throw new Error(`Say in ${CONFIG} what ${name} means`);
  const defaultValue = defaultOf(name);
  return `| \`${name}\` | ${defaultValue === undefined ? '' : `\`${defaultValue}\``} | ${allowedOf(name)} | ${meaning} |`;
};

/** Returns the page of settings as Markdown, generated from `src/runtime/config.ts`. */
export const settingsPage = (): string => {
  const names = [...readConfig(COLLECTOR).names].sort();
  return `# Settings

\`npm run record\` makes this page from \`${CONFIG}\`.

Settings are environment variables. An empty variable counts as absent. If a value is invalid, the process does not start: it exits with code 78 and a message that names the setting.

| setting | default | values | meaning |
| --- | --- | --- | --- |
${names.map(rowOf).join('\n')}

The OpenTelemetry SDK itself reads further \`OTEL_…\` variables, such as \`OTEL_SERVICE_NAME\`. The file that \`SOURCES_FILE\` names may refer to further variables.
`;
};
