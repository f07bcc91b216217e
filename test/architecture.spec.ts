import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { MODULES, PROJECTIONS } from './modules.js';
import { findCycles, type Imports } from './support/import-cycles.js';

/** Modules that may import no package except Node's own. */
const WITHOUT_PACKAGES = new Set(['events', 'errors']);
/** For each of these packages, the only files that may import it. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  '@eventstore/db-client': ['src/event-log/eventstoredb/client.ts', 'src/event-log/eventstoredb/decoded-once.ts'],
};
/** Configures the connection pools. Apart from `postgres`, only this file may import any name of pg. */
const POOLS = 'src/read-models/pools.ts';
/** For each table of the schema `service`, the only module that writes the table. */
const TABLE_OWNERS: Readonly<Record<string, string>> = {
  ingest_usage: 'quotas',
  key_uses: 'api-keys',
  event_usage: 'ingestion',
  rejections: 'ingestion',
  webhook_progress: 'webhooks',
  webhook_outcomes: 'webhooks',
  webhook_attempts: 'webhooks',
  webhook_tests: 'webhooks',
  dispute_contacts: 'disputes',
  erased_names: 'read-models',
  erasures: 'read-models',
  bounded_times: 'projections',
  lists: 'lists',
  list_names: 'lists',
  list_versions: 'lists',
};
/** The files that may start or join the embedded PostgreSQL server. */
const STARTS_EMBEDDED = /^src\/(?:api\/serve\.ts|ops\/worker\.ts|cli[/.])/;
/**
 * The names that every module may import from pg: the injection token and types. Only `postgres` opens connections.
 */
const PG_NAMES = new Set(['Pool', 'PoolClient', 'QueryResult', 'QueryConfig', 'QueryResultRow']);

const IMPORT = /(?:import|export)\s+(?:type\s+)?(?:([^'";]*?)\s+from\s+)?'([^']+)'|import\(\s*'([^']+)'\s*\)/g;
const namesOf = (clause: string): string[] =>
  (/\{([^}]*)\}/.exec(clause)?.[1] ?? '')
    .split(',')
    .map(
      (name) =>
        name
          .replace(/^\s*type\s+/, '')
          .trim()
          .split(/\s+as\s+/)[0]!,
    )
    .filter((name) => name !== '');

/** `src/http/access.ts` → `http`; `src/main.ts` → `main`; undefined outside src. */
const moduleOf = (path: string): string | undefined => /^src\/([^/]+?)(?:\/|\.ts$)/.exec(path)?.[1];

const withoutComments = (source: string): string =>
  source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

const mayImport = (path: string): readonly string[] | 'all of src' =>
  path.startsWith('projections/') ? PROJECTIONS : (MODULES[moduleOf(path)!] ?? []);

const importFault = (path: string, specifier: string, clause: string): string | undefined => {
  const module = moduleOf(path);
  if (!specifier.startsWith('.')) {
    const name = packageOf(specifier);
    if (module !== undefined && WITHOUT_PACKAGES.has(module) && !specifier.startsWith('node:'))
      return `imports ${specifier}: this module imports no package`;
    const owners = OWNERS[name];
    if (owners?.includes(path) === false) return `imports ${name}, which ${owners[0]} owns`;
    if (name === 'pg' && module !== 'postgres' && path !== POOLS) {
      const forbiddenName = namesOf(clause).find((each) => !PG_NAMES.has(each));
      if (forbiddenName !== undefined) return `imports ${forbiddenName} of pg, which postgres owns`;
    }
    if (
      name === 'kysely' &&
      namesOf(clause).includes('PostgresDialect') &&
      module !== 'postgres' &&
      module !== 'read-models'
    )
      return 'imports the dialect of kysely, which read-models owns';
    if (name === '@nestjs/cqrs' && namesOf(clause).includes('EventBus'))
      return 'imports EventBus: it runs handlers concurrently and swallows their errors';
    return undefined;
  }
  if (!specifier.endsWith('.js') && !specifier.endsWith('.json')) return `imports ${specifier} without .js`;
  const target = posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');
  if (target.startsWith('projections/'))
    return path.startsWith('projections/') || module === 'cli'
      ? undefined
      : `imports ${target}: only projections and cli may import projections`;
  if (
    target.startsWith('src/postgres/embedded/') &&
    !path.startsWith('src/postgres/embedded/') &&
    !STARTS_EMBEDDED.test(path)
  )
    return `imports ${target}: only the entry points may import the embedded server`;
  const targetModule = moduleOf(target);
  if (targetModule === undefined) return `imports ${target}, which is outside src and projections`;
  const allowed = mayImport(path);
  if (allowed === 'all of src' || targetModule === module || allowed.includes(targetModule)) return undefined;
  return `imports ${target}, but may import ${allowed.join(', ') || 'nothing'}`;
};

const WRITES_READ_MODELS = /\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate(?:\s+table)?)\s+read\.(\w+)/i;
/** A write in SQL, or a write with Kysely. */
const WRITES_SERVICE =
  /(?:\b(?:insert\s+into|update|delete\s+from|merge\s+into|truncate(?:\s+table)?)\s+(?:only\s+)?|\b(?:insertInto|updateTable|deleteFrom|mergeInto)\(\s*['"`])"?service"?\."?(\w+)/gi;
/** Files that may write to the terminal. The third one suppresses warnings of the EventStoreDB client. */
const WRITERS = ['src/runtime/terminal.ts', 'src/cli/output.ts', 'src/event-log/eventstoredb/connection-string.ts'];
const WRITES = /\bconsole\.|\bprocess\.std(?:out|err)\.write\b/;
const MAX_FILES = 15;
/** The folder of migrations may hold any number of files, because migrations are never removed. */
const MIGRATIONS = 'src/read-models/migrations';
const listed = (modules: readonly string[] | 'all of src'): string =>
  modules === 'all of src' ? modules : [...modules].sort().join(', ') || 'nothing';
const MEANINGLESS_NAME = /(?:^|[-.])(?:manager|helpers?|utils?|base|common|service|impl)(?:[-.]|$)/;

const faultsOf = (path: string, source: string): string[] => {
  const code = withoutComments(source);
  const faults = [...code.matchAll(IMPORT)].flatMap(([, clause = '', specifier, dynamic]) => {
    const fault = importFault(path, (specifier ?? dynamic)!, clause);
    return fault === undefined ? [] : [fault];
  });
  const module = moduleOf(path);
  if (path.startsWith('src/') && MODULES[module!] === undefined) faults.push('is in no module of the table');
  if (/\bprocess\.env\b/.test(code) && path !== 'src/runtime/config.ts')
    faults.push('reads process.env, which runtime/config.ts owns');
  if (WRITES.test(code) && !WRITERS.includes(path))
    faults.push('writes to the terminal, which runtime/terminal.ts escapes');
  if (/\bnew\s+(?:Pool|Client)\s*\(/.test(code) && module !== 'postgres')
    faults.push('opens database connections, which only postgres may do');
  const readModelTable = WRITES_READ_MODELS.exec(code)?.[1];
  if (readModelTable !== undefined && path.startsWith('src/') && module !== 'read-models')
    faults.push(`writes read.${readModelTable}, which only projections write`);
  if (!path.startsWith(`${MIGRATIONS}/`))
    for (const [, table] of code.matchAll(WRITES_SERVICE))
      if (TABLE_OWNERS[table!] !== (module ?? path.split('/')[0]))
        faults.push(`writes service.${table}, which ${TABLE_OWNERS[table!] ?? 'no module'} owns`);
  if (/@QueryHandler\b/.test(code) && /\.append(?:All)?\(/.test(code)) faults.push('appends to the log in a query');
  const file = posix.basename(path);
  // The name of a migration may contain `service`, because migrations change the schema `service`.
  if (MEANINGLESS_NAME.test(file) && !path.startsWith(`${MIGRATIONS}/`)) faults.push('has a name that says nothing');
  if (file === 'index.ts') faults.push('is a barrel');
  return faults.map((fault) => `${path} ${fault}`);
};

const root = join(import.meta.dirname, '..');
const sourcesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')));

describe('The architecture', () => {
  const paths = [...sourcesIn('src'), ...sourcesIn('projections')];

  it('is checked on more than zero files', () => {
    expect(paths).toContain('src/events/event.ts');
    expect(paths.length).toBeGreaterThan(60);
  });

  it('lets each module import what the table says, and nothing else', () => {
    expect(paths.flatMap((path) => faultsOf(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
  });
});

it('Every table of the schema service has an owner', () => {
  const created = sourcesIn(MIGRATIONS).flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/create table (?:if not exists )?service\.(\w+)/g)].map(
      ([, table]) => table,
    ),
  );
  expect(new Set(created)).toEqual(new Set(Object.keys(TABLE_OWNERS)));
});

/** Returns the files of src and projections that a file imports, including type imports. */
const importsOf = (path: string): string[] =>
  [...withoutComments(readFileSync(join(root, path), 'utf8')).matchAll(IMPORT)]
    .map(([, , specifier, dynamic]) => (specifier ?? dynamic)!)
    .filter((specifier) => specifier.startsWith('.') && specifier.endsWith('.js'))
    .map((specifier) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts'));

describe('The shape of the tree', () => {
  const paths = [...sourcesIn('src'), ...sourcesIn('projections')];

  it('has no import cycle, neither between files nor between the modules of the table', () => {
    const files: Imports = new Map(paths.map((path) => [path, importsOf(path)]));
    expect(findCycles(files)).toEqual([]);
    const modules: Imports = new Map(
      Object.entries(MODULES).map(([module, may]) => [module, may === 'all of src' ? [] : may]),
    );
    expect(findCycles(modules)).toEqual([]);
    expect(
      findCycles(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b', 'd']],
          ['d', []],
        ]),
      ),
    ).toEqual([['b', 'c']]);
  });

  it(`has at most ${MAX_FILES} files in a folder`, () => {
    const counts = new Map<string, number>();
    for (const path of paths) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
    expect([...counts].filter(([folder, count]) => count > MAX_FILES && folder !== MIGRATIONS)).toEqual([]);
  });

  it('is described by the table of modules in docs/internals/architecture.md', () => {
    const rows = readFileSync(join(root, 'docs/internals/architecture.md'), 'utf8').matchAll(
      /^\| (`(?:src|projections)[^|]*) \|[^|]*\| ([^|]+) \|$/gm,
    );
    const documented = [...rows].flatMap(([, modules, may]) =>
      [...modules!.matchAll(/`([^`]+)`/g)].map(([, module]) => [module, may!.trim()] as const),
    );
    const expected = Object.entries(MODULES).map(([module, may]) => [`src/${module}`, listed(may)] as const);
    expect(Object.fromEntries(documented)).toEqual({
      ...Object.fromEntries(expected),
      projections: listed(PROJECTIONS),
    });
  });
});

describe('The rules of the architecture', () => {
  const forbidden: readonly (readonly [path: string, source: string, fault: RegExp])[] = [
    ['src/events/types/records.ts', "import { v5 } from 'uuid';", /imports no package/],
    ['src/events/types/records.ts', "import { Invalid } from '../../errors.js';", /may import assets/],
    [
      'src/metrics/range.ts',
      "import { evolve } from '../asset-groups/asset-group.js';",
      /src\/asset-groups\/asset-group\.ts/,
    ],
    [
      'src/metrics/range.ts',
      "import type { Verdict } from '../asset-check/verdict.js';",
      /src\/asset-check\/verdict\.ts/,
    ],
    ['src/metrics/range.ts', "import {\n  a,\n  b,\n} from '../ingestion/cloud-event.js';", /src\/ingestion/],
    ['src/metrics/range.ts', "const later = await import('../records/list-records.js');", /src\/records/],
    ['src/metrics/range.ts', "export { x } from '../cli/demo/chart.js';", /src\/cli/],
    ['src/metrics/range.ts', "import '../cli/output.js';", /src\/cli/],
    ['src/http/access.ts', "import { KeyRing } from '../api-keys/key-ring.js';", /src\/api-keys/],
    ['src/read-models/pool.ts', "import { EventLog } from '../event-log/event-log.js';", /src\/event-log/],
    [
      'src/metrics/get-metrics.ts',
      "import { metrics } from '../../projections/metrics/projection.js';",
      /may import projections/,
    ],
    ['src/api/serve.ts', "import { PROJECTIONS } from '../../projections/registry.js';", /may import projections/],
    ['projections/metrics.ts', "import { GetMetrics } from '../src/metrics/totals/get-metrics.js';", /src\/metrics/],
    ['projections/metrics.ts', "import { requestIdOf } from '../src/http/request-id.js';", /src\/http/],
    [
      'projections/engine/rebuild.ts',
      "import { openDatabase } from '../../src/postgres/embedded/embedded-postgres.js';",
      /embedded/,
    ],
    ['src/http/server.ts', "import { startApp } from '../../test/support/app.js';", /outside src/],
    ['src/ingestion/a.ts', "import { jsonEvent } from '@eventstore/db-client';", /client\.ts owns/],
    ['src/event-log/eventstoredb.ts', "import { jsonEvent } from '@eventstore/db-client';", /client\.ts owns/],
    ['src/metrics/a.ts', "import { Client } from 'pg';", /postgres owns/],
    ['src/metrics/a.ts', "import { PostgresDialect, sql } from 'kysely';", /read-models owns/],
    ['src/metrics/a.ts', "import { EventBus } from '@nestjs/cqrs';", /swallows/],
    ['src/metrics/a.ts', "import { b } from './b';", /without \.js/],
    ['src/metrics/a.ts', "const zone = process.env['TZ'];", /config\.ts owns/],
    ['src/cli/keys.ts', 'process.stdout.write(name);', /terminal\.ts escapes/],
    ['src/http/a.ts', 'console.warn(reason);', /terminal\.ts escapes/],
    ['src/metrics/a.ts', 'const pool = new Pool({ max: 1 });', /opens database connections/],
    ['src/metrics/a.ts', 'await pool.query(`insert into read.days values (1)`);', /only projections write/],
    ['src/metrics/a.ts', 'await pool.query(`insert into service.ingest_usage as u (day) values (1)`);', /quotas owns/],
    [
      'src/http/a.ts',
      'const SPEND = `with a as (\nupdate service.ingest_usage set events = 0) select 1`;',
      /quotas owns/,
    ],
    ['src/cli/a.ts', 'await pool.query(`delete from only "service"."ingest_usage"`);', /quotas owns/],
    ['src/read-models/a.ts', 'await pool.query(`truncate table service.ingest_usage`);', /quotas owns/],
    ['projections/metrics.ts', 'await pool.query(`merge into service.ingest_usage u using a on true`);', /quotas owns/],
    ['src/cli/a.ts', "await createReadModels(pool).deleteFrom('service.ingest_usage').execute();", /quotas owns/],
    ['src/quotas/a.ts', 'await pool.query(`update service.unknown set a = 1`);', /no module owns/],
    ['src/metrics/a.ts', '@QueryHandler(A) class B { async execute() { await this.log.append(x); } }', /in a query/],
    ['src/metrics/metrics.service.ts', '', /says nothing/],
    ['src/metrics/date-utils.ts', '', /says nothing/],
    ['src/metrics/index.ts', '', /barrel/],
    ['src/reports/file-report.ts', '', /no module/],
  ];

  it.each(forbidden)('forbid that the file %s contains %j', (path, source, fault) => {
    expect(faultsOf(path, source)).toEqual([expect.stringMatching(fault)]);
  });

  it('allow the imports and statements that the modules need', () => {
    const allowed: readonly (readonly [string, string])[] = [
      ['src/metrics/a.ts', "import { Pool } from 'pg';\nimport { Access } from '../http/access.js';"],
      ['src/metrics/a.ts', "// import { evolve } from '../asset-groups/asset-group.js';"],
      ['src/cli/keys.ts', "import { IssueApiKey } from '../api-keys/issue-api-key.js';"],
      ['src/cli/projections.ts', "import { PROJECTIONS } from '../../projections/registry.js';"],
      ['src/event-log/eventstoredb/client.ts', "import { EventStoreDBClient } from '@eventstore/db-client';"],
      ['src/ops/worker.ts', "import { openDatabase } from '../postgres/embedded/embedded-postgres.js';"],
      ['src/metrics/a.ts', 'await pool.query(`select n from read.days`);'],
      ['src/quotas/a.ts', 'await pool.query(`update service.ingest_usage set events = 0`);'],
      ['src/metrics/a.ts', 'await pool.query(`select events from service.ingest_usage`);'],
    ];
    expect(allowed.flatMap(([path, source]) => faultsOf(path, source))).toEqual([]);
  });
});
