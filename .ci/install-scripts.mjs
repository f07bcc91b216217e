/**
 * Fails if a package with an install script is not listed in install-scripts.json, which says what each script does and
 * why it is not needed. None of the scripts is run: `allowScripts` in package.json denies each one.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProgram, readPackages, tell } from './lock-file.mjs';

const readJson = (...names) => JSON.parse(readFileSync(join(import.meta.dirname, ...names), 'utf8'));

export const unlisted = (packages, known, denied) => {
  const scripted = packages.filter(({ hasInstallScript }) => hasInstallScript);
  return [
    ...scripted
      .filter(({ name }) => !Object.hasOwn(known, name))
      .map(
        ({ name, version }) =>
          `${name} ${version} runs a script when it is installed; read it, then list it or go without it`,
      ),
    ...scripted
      .filter(({ name }) => Object.hasOwn(known, name) && denied[name] !== false)
      .map(({ name }) => `allowScripts in package.json does not deny ${name} its script`),
  ];
};

if (isProgram(import.meta.url))
  tell(
    unlisted(readPackages(), readJson('install-scripts.json'), readJson('..', 'package.json').allowScripts ?? {}),
    'Every install script is known and denied',
  );
