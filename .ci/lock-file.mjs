import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The lock file named on the command line, or that of the project. */
const path = process.argv[2] ?? join(import.meta.dirname, '..', 'package-lock.json');

/** Whether a module is the program that was started, not one that it imports. */
export const isProgram = (url) => url === pathToFileURL(process.argv[1]).href;

/** @returns each installed package: its name, version, folder and the other fields of its entry in the lock file */
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

/** Prints the findings, one per line, and exits: with 1 if there are any, otherwise with 0. */
export const tell = (findings, fine) => {
  console.log(findings.length === 0 ? fine : findings.join('\n'));
  process.exit(findings.length === 0 ? 0 : 1);
};
