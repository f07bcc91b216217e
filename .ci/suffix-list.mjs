/**
 * Prints how old the bundled Public Suffix List is: the version of tldts in the lock file, the age of its publication, and
 * the newest version. Age does not fail the run, and neither does a registry that does not answer.
 */
import { spawnSync } from 'node:child_process';
import { isProgram, readPackages } from './lock-file.mjs';

const MS_PER_DAY = 86_400_000;

/** @param answer what `npm view tldts time --json` printed: when each version was published */
export const describeAge = (version, answer, now) => {
  let times;
  try {
    times = JSON.parse(answer) ?? {};
  } catch {
    times = {};
  }
  const daysOf = (one) => Math.floor((now - Date.parse(times[one])) / MS_PER_DAY);
  const begin = `The bundled Public Suffix List is of tldts ${version}`;
  if (Number.isNaN(daysOf(version))) return `${begin}; the registry did not say when it was published`;
  const newest = Object.keys(times)
    .filter((one) => /^\d+\.\d+\.\d+$/.test(one))
    .reduce((a, b) => (Date.parse(times[b]) > Date.parse(times[a]) ? b : a));
  const after = newest === version ? 'the newest version' : `the newest is ${newest}, ${daysOf(newest)} days old`;
  return `${begin}, published ${daysOf(version)} days ago; ${after}`;
};

if (isProgram(import.meta.url)) {
  const { version } = readPackages().find(({ place }) => place === 'node_modules/tldts');
  const { stdout } = spawnSync('npm', ['view', 'tldts', 'time', '--json'], {
    encoding: 'utf8',
    timeout: 30_000,
    // On Windows npm is a script of the shell.
    shell: process.platform === 'win32',
  });
  console.log(describeAge(version, stdout ?? '', Date.now()));
}
