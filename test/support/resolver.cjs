/**
 * Resolves packages to their bundles in `dist`, if they are built (ADR 0021). Each spec loads all packages again, and a
 * bundle loads in half the time.
 */
const { existsSync } = require('node:fs');
const path = require('node:path');

const PROJECT = path.resolve(__dirname, '../..');
const BUNDLES = path.join(PROJECT, 'dist/node_modules');
const CLASS_VALIDATOR = path.join(__dirname, 'class-validator.cjs');
const found = new Map();

const bundleOf = (name) => {
  if (!found.has(name)) {
    const files = [path.join(BUNDLES, name, 'index.mjs'), path.join(BUNDLES, `${name}.mjs`)];
    found.set(
      name,
      files.find((file) => existsSync(file)),
    );
  }
  return found.get(name);
};

module.exports = (request, options) => {
  const isPackage = /^[@a-z]/.test(request);
  const bundle = isPackage && options.conditions?.includes('import') ? bundleOf(request) : undefined;
  if (bundle !== undefined) return bundle;
  // Unlike Node, Jest cannot require the bundle, and the package itself has three hundred files.
  if (request === 'class-validator' && options.basedir.startsWith(BUNDLES)) return CLASS_VALIDATOR;
  // Unlike Node, Jest cannot require the ES modules of the bundles, so bundles get the CommonJS packages.
  const basedir = isPackage && options.basedir.startsWith(BUNDLES) ? PROJECT : options.basedir;
  return options.defaultResolver(request, { ...options, basedir });
};
