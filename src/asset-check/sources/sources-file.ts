import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Config, ConfigError, readUrl } from '../../runtime/config.js';
import { type SourceMode, SOURCE_MODES } from '../verdict.js';
import { readSuffix } from '../lists/hosting-suffixes.js';
import { type EntryVerdict, type Format, GUARD_FORMATS, LIST_FORMATS } from '../lists/parse-list.js';

interface Named {
  readonly id: string;
  readonly mode: SourceMode;
  /** Where owners of wrongly listed assets can appeal. */
  readonly appeal?: string;
  /** Whether the verdicts of the source may be passed on in local lists. Absent for a guard and for lookups. */
  readonly redistribute?: boolean;
}

export interface OwnSettings extends Named {
  readonly kind: 'own';
  /** Maximum memory for this service's own statuses, in bytes. */
  readonly maxBytes: number;
}

export interface ListSettings extends Named {
  /** A `guard` is read like a list. Its hosts cannot be blocked as a whole by a list, and checks do not show it. */
  readonly kind: 'list' | 'guard';
  readonly format: Format;
  /** The status of the entries in formats without a verdict per entry. */
  readonly verdict: EntryVerdict;
  /** Exactly one of `url` and `file` is set. */
  readonly url?: string;
  /** An absolute path. */
  readonly file?: string;
  readonly refreshSeconds: number;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface LookupSettings extends Named {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export type SourceSettings = OwnSettings | ListSettings | LookupSettings;

export interface SourcesSettings {
  /** Maximum time in ms that a check waits for lookups. */
  readonly budgetMs: number;
  readonly hostingSuffixes: readonly string[];
  readonly sources: readonly SourceSettings[];
}

/** Injection token of the settings in the sources file, which is read once at the start. */
export const SOURCES = Symbol('sources');

const SHIPPED = fileURLToPath(new URL('./sources.json', import.meta.url));

const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const OWN_VERDICTS: readonly Format[] = ['metamask', 'polkadot'];
const COMMON = ['id', 'kind', 'mode'];

/** Reads the fields of one object in the sources file. Errors name the file and the path of the field. */
class Fields {
  constructor(
    private readonly file: string,
    private readonly path: string,
    private readonly value: Readonly<Record<string, unknown>>,
  ) {}

  reject(name: string, rule: string): never {
    throw new ConfigError(`${this.file}: ${this.path === '' ? '' : `${this.path}.`}${name} ${rule}`);
  }

  only(allowed: readonly string[]): void {
    const unknown = Object.keys(this.value).find((name) => !allowed.includes(name));
    if (unknown !== undefined) this.reject(unknown, `is unknown; allowed are ${allowed.join(', ')}`);
  }

  has(name: string): boolean {
    return this.value[name] !== undefined;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[], fallback?: T): T {
    if (!this.has(name) && fallback !== undefined) return fallback;
    const found = allowed.find((candidate) => candidate === this.value[name]);
    return found ?? this.reject(name, `must be one of ${allowed.join(', ')}`);
  }

  text(name: string, pattern: RegExp, rule: string): string {
    const value = this.value[name];
    return typeof value === 'string' && pattern.test(value) ? value : this.reject(name, rule);
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.has(name) ? this.value[name] : fallback;
    return typeof value === 'boolean' ? value : this.reject(name, 'must be true or false');
  }

  wholeNumber(name: string, fallback: number, most: number): number {
    const value = this.has(name) ? this.value[name] : fallback;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
    return this.reject(name, `must be a whole number from 1 to ${most}`);
  }

  webAddress(name: string): string {
    const text = this.text(name, /^https?:\/\/./i, 'must be an http:// or https:// URL');
    return readUrl(text) !== undefined ? text : this.reject(name, 'is not a valid URL');
  }

  list(name: string): readonly unknown[] {
    const value = this.value[name];
    return Array.isArray(value) ? value : this.reject(name, 'must be an array');
  }

  headers(name: string, variable: (name: string) => string | undefined, isUsed: boolean): Record<string, string> {
    if (!this.has(name)) return {};
    const value = this.value[name];
    if (!isObject(value)) this.reject(name, 'must be an object of strings');
    const headers: Record<string, string> = {};
    for (const [header, text] of Object.entries(value)) {
      const path = `${name}.${header}`;
      if (!HEADER_NAME.test(header)) this.reject(path, 'is not a valid header name');
      if (typeof text !== 'string') this.reject(path, 'must be a string');
      headers[header.toLowerCase()] = text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, variableName: string) => {
        const found = variable(variableName);
        if (found === undefined && isUsed) this.reject(path, `uses \${${variableName}}, which is not set`);
        return found ?? '';
      });
      // The error message does not quote the value, because the value may be a secret.
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(headers[header.toLowerCase()]!))
        this.reject(path, 'has characters that a header cannot have');
    }
    return headers;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const readSource = (fields: Fields, folder: string, variable: Config['variable']): SourceSettings => {
  const kind = fields.oneOf('kind', ['own', 'list', 'http', 'guard']);
  const id = fields.text('id', ID, 'must be 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit');
  const mode = fields.oneOf('mode', SOURCE_MODES, 'ENABLED');
  const appeal = fields.has('appeal') && (kind === 'list' || kind === 'http') ? fields.webAddress('appeal') : undefined;
  if (kind === 'own') {
    fields.only([...COMMON, 'maxBytes', 'redistribute']);
    const redistribute = fields.flag('redistribute', true);
    return { id, kind, mode, redistribute, maxBytes: fields.wholeNumber('maxBytes', 268_435_456, 4_294_967_295) };
  }
  if (kind === 'http') {
    fields.only([...COMMON, 'url', 'headers', 'timeoutMs', 'appeal']);
    const headers = fields.headers('headers', variable, mode === 'ENABLED');
    const timeoutMs = fields.wholeNumber('timeoutMs', 1_000, 600_000);
    return { id, kind, mode, appeal, url: fields.webAddress('url'), headers, timeoutMs };
  }
  const isGuard = kind === 'guard';
  const allowed = ['format', 'url', 'file', 'refreshSeconds', 'timeoutMs', 'maxBytes'];
  fields.only([...COMMON, ...allowed, ...(isGuard ? [] : ['verdict', 'appeal', 'redistribute'])]);
  const format = isGuard ? fields.oneOf('format', GUARD_FORMATS, 'plain') : fields.oneOf('format', LIST_FORMATS);
  if (fields.has('verdict') && OWN_VERDICTS.includes(format))
    fields.reject('verdict', `does not apply to the format ${format}, where each entry has its own verdict`);
  if (fields.has('url') === fields.has('file')) fields.reject('url', 'or file must be set, but not both');
  return {
    id,
    kind,
    mode,
    appeal,
    ...(isGuard ? {} : { redistribute: fields.flag('redistribute', false) }),
    format,
    verdict: isGuard ? 'GUARDED' : fields.oneOf('verdict', ['BLOCKED', 'ALLOWED'], 'BLOCKED'),
    url: fields.has('url') ? fields.webAddress('url') : undefined,
    file: fields.has('file') ? resolve(folder, fields.text('file', /./, 'must be a path')) : undefined,
    refreshSeconds: fields.wholeNumber('refreshSeconds', 300, 2_592_000),
    timeoutMs: fields.wholeNumber('timeoutMs', 10_000, 600_000),
    maxBytes: fields.wholeNumber('maxBytes', 67_108_864, 1_073_741_824),
  };
};

/**
 * Reads the sources file. A check queries the sources in the order of the file.
 * @throws ConfigError that names the invalid field
 */
export const readSourcesFile = (config: Pick<Config, 'sourcesFile' | 'variable'>): SourcesSettings => {
  const file = config.sourcesFile ?? SHIPPED;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${(error as Error).message}`);
  }
  if (!isObject(content)) throw new ConfigError(`${file} must be a JSON object`);
  const top = new Fields(file, '', content);
  top.only(['budgetMs', 'hostingSuffixes', 'sources']);
  const hostingSuffixes = (top.has('hostingSuffixes') ? top.list('hostingSuffixes') : []).map((suffix, index) => {
    if (typeof suffix === 'string' && readSuffix(suffix) !== undefined) return suffix;
    return top.reject(`hostingSuffixes[${index}]`, 'must be a host of at least two labels, optionally preceded by *.');
  });
  const sources = top.list('sources').map((source, index) => {
    if (!isObject(source)) return top.reject(`sources[${index}]`, 'must be an object');
    return readSource(new Fields(file, `sources[${index}]`, source), dirname(file), config.variable);
  });
  const repeated = sources.findIndex(({ id }, index) => sources.findIndex((other) => other.id === id) !== index);
  if (repeated !== -1) top.reject(`sources[${repeated}].id`, `is a duplicate of "${sources[repeated]!.id}"`);
  const ownCount = sources.filter(({ kind }) => kind === 'own').length;
  if (ownCount !== 1) top.reject('sources', `must contain exactly one source of kind own, not ${ownCount}`);
  return { budgetMs: top.wholeNumber('budgetMs', 1_500, 60_000), hostingSuffixes, sources };
};
