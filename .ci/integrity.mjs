/**
 * Fails if the lock file has no hash for a package, so that npm would accept any content from the registry. Exceptions
 * are listed in `without-integrity.json`; an exception that is no longer needed also fails.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProgram, readPackages, tell } from './lock-file.mjs';

/** Development tools for other platforms, which the registry that wrote the lock file did not have. */
const excepted = JSON.parse(readFileSync(join(import.meta.dirname, 'without-integrity.json'), 'utf8'));

export const unhashed = (packages, exceptions = excepted) => {
  const without = packages.filter(({ integrity, link }) => integrity === undefined && !link);
  const names = new Set(without.map(({ name }) => name));
  return [
    ...without
      .filter(({ name, dev, optional }) => !(exceptions.includes(name) && dev && optional))
      .map(({ name, version }) => `${name} ${version} has no integrity in package-lock.json`),
    ...exceptions.filter((name) => !names.has(name)).map((name) => `${name} is in without-integrity.json for nothing`),
  ];
};

if (isProgram(import.meta.url))
  tell(unhashed(readPackages()), 'Every package of production has a hash, and of development all that could be known');
