import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The lock file that the command line names, or the project's. */
const path = process.argv[2] ?? join(import.meta.dirname, '..', 'package-lock.json');

/** Whether a module is the program that was started, not one that it imports. */
export const isProgram = (url) => url === pathToFileURL(process.argv[1]).href;

/** @returns each installed package: its name, version, place and what the lock file says of it */
export const readPackages = (file = path) => {
  const { packages } = JSON.parse(readFileSync(file, 'utf8'));
  return Object.entries(packages)
    .filter(([place]) => place !== '')
    .map(([place, entry]) => ({
      ...entry,
      place,
      name: entry.name ?? place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length),
      folder: join(dirname(file), place),
    }));
};

/** Says what was found, one line each, and ends the process: with 1 where there is something. */
export const tell = (findings, fine) => {
  console.log(findings.length === 0 ? fine : findings.join('\n'));
  process.exit(findings.length === 0 ? 0 : 1);
};
