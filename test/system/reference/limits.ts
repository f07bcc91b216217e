import { readdirSync } from 'node:fs';
import { join } from 'node:path';
// Each module declares its limits when it is imported.
import '../../../projections/engine/projector.js';
import '../../../projections/engine/rebuild.js';
import '../../../src/api/app.module.js';
import '../../../src/event-log/eventstoredb/connection.js';
import '../../../src/event-log/eventstoredb/writer.js';
import '../../../src/http/server.js';
import '../../../src/webhooks/delivery/context.js';
import '../../../src/webhooks/delivery/endpoint-delivery.js';
import { type Limit, LIMITS } from '../../../src/limits.js';
import { bytes, count, duration, readSource } from './constants.js';
import { defaultOf } from './settings.js';

const root = join(import.meta.dirname, '../../..');

/** The texts of all files of the product, by path. */
export const SOURCES: ReadonlyMap<string, string> = new Map(
  ['src', 'projections'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .map((path) => [path, readSource(path)] as const),
  ),
);

const DECLARATION = /\b(?:limit|limitBySetting|declare\w+)\((?:\{\s*name: )?\s*(?:'([^']*)'|"([^"]*)")/g;
const FILES = new Map<string, string>();
for (const [path, text] of SOURCES)
  for (const [, name = '', quoted = name] of text.matchAll(DECLARATION)) {
    if ((FILES.get(quoted) ?? path) !== path)
      throw new Error(`${path} and ${FILES.get(quoted)} name a limit "${quoted}"`);
    FILES.set(quoted, path);
  }

/**
 * The file that declares the limit, and no other does.
 * @throws Error if no file does
 */
export const fileOf = ({ name }: Limit): string => {
  const path = FILES.get(name.replace(/ of more than \d+ KiB$/, ''));
  if (path === undefined) throw new Error(`No file declares the limit "${name}"`);
  return path;
};

/** The sections of the page, and the modules whose limits each has. */
const SECTIONS: Readonly<Record<string, RegExp>> = {
  Requests: /^src\/(?:http|flow|api-keys|read-models|postgres|event-log)\//,
  Events: /^(?:src\/(?:ingestion|events\/declaring|quotas)|projections)\//,
  'Metrics and records': /^src\/(?:metrics|records)\//,
  'Asset check and groups': /^src\/(?:assets|asset-check|asset-groups|disputes|events\/types\/verdicts)\b/,
  'Local lists': /^src\/lists\//,
  Webhooks: /^src\/(?:webhooks|events\/types\/organizations)\b/,
};

export const amount = ({ value, unit }: Limit): string => {
  const number = Number(typeof value === 'number' ? value : defaultOf(value));
  const text =
    unit === 'ms'
      ? duration(number)
      : unit.startsWith('bytes')
        ? `${bytes(number)}${unit.slice('bytes'.length)}`
        : `${count(number)} ${number === 1 ? unit.replace(/ies\b/, 'y').replace(/s\b/, '') : unit}`;
  return typeof value === 'number' ? text : `${text} (\`${value}\`)`;
};

export const upperCased = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * Returns a table of limits as Markdown.
 * @param routesOf the routes that meet the limit, for a further column
 */
const tableOf = (limits: readonly Limit[]): string => {
  const row = (limit: Limit): string[] => [
    upperCased(limit.name),
    amount(limit),
    limit.scope,
    limit.beyond,
    `\`${fileOf(limit)}\``,
  ];
  const heads = ['applies to', 'limit', 'per', 'beyond the limit', 'defined in'];
  return [heads, heads.map(() => '---'), ...limits.map(row)].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
};

/** Returns the page of limits as Markdown, printed from the limits that the modules of the product declare. */
export const limitsPage = (): string => `# Limits

\`npm run record\` prints this page from the limits that the modules declare (\`src/limits.ts\`).

Each API process applies the limits separately, so _n_ processes together admit up to _n_ times as much. Only the quotas of a UTC day are shared. Every 429 and 503 has \`Retry-After\` in seconds, and its message says which limit was reached. An address is an IPv4 address or an IPv6 /64 network. [Where a request can wait](../internals/waiting.md) lists the limits for which requests compete.

${Object.entries(SECTIONS)
  .map(([heading, modules]) => `## ${heading}\n\n${tableOf(LIMITS.filter((limit) => modules.test(fileOf(limit))))}`)
  .join('\n\n')}
`;
