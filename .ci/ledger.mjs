/**
 * The ledger of the doses that take too long for each change (`reliability/ledger.json`): which commit each last ran on,
 * and how it ended. A dose is out of date if it never ran, did not pass, or code that it covers has changed since.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Code that every dose runs. The dashboard and the demo's data have specs of their own. */
export const SERVICE = ['src', 'projections', 'package-lock.json', ':!src/dashboard', ':!src/cli/demo'];

/**
 * @typedef {{ name: string, command: readonly string[], covers: readonly string[] }} Dose `covers`: git pathspecs
 * @typedef {{ commit: string, began: string, seconds: number, outcome: 'passed' | 'failed' | 'skipped', last: string }} Run
 *   `began`: ISO 8601; `last`: the last line that the dose printed
 * @typedef {Readonly<Record<string, Run>>} Ledger by the name of the dose
 */

/** @returns {Ledger} */
export const readLedger = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** Writes the runs sorted by dose, so that a change of the file shows what ran. */
export const writeLedger = (path, ledger) => {
  const sorted = Object.entries(ledger).sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
};

/** Whether files that match the pathspecs differ between a commit and the working tree. A lost commit has changed. */
export const hasChanged = (commit, covers) => {
  try {
    execFileSync('git', ['diff', '--quiet', commit, '--', ...covers], { stdio: 'ignore' });
    return false;
  } catch {
    return true;
  }
};

/**
 * Returns what a scenario covers besides the service: the rig, the file that defines the scenario, and what that file
 * imports from its own folder. If no file has the scenario's name as it is, this is every fault and attack.
 * @returns {string[]} git pathspecs
 */
export const coversOfScenario = (name) => {
  const all = ['reliability/faults', 'reliability/attacks'];
  const found = spawnSync('git', ['grep', '-lF', `'${name}'`, '--', ...all], { encoding: 'utf8' });
  const files = found.stdout.split('\n').filter((line) => line !== '');
  const imported = files.flatMap((file) =>
    Array.from(readFileSync(file, 'utf8').matchAll(/from '\.\/(.+)\.js'/g), ([, path]) =>
      join(dirname(file), `${path}.ts`),
    ),
  );
  return ['reliability/rig', ...(files.length === 0 ? all : [...files, ...imported])];
};

const REASONS = ['never ran', 'did not pass', 'covers changed code'];

/**
 * Returns the doses that are out of date, with the reason: first those that never ran, then those that did not pass, then
 * those whose code has changed; of each kind, the one that ran longest ago first.
 * @param {readonly Dose[]} doses
 * @param {Ledger} ledger
 * @param {(commit: string, covers: readonly string[]) => boolean} changed
 */
export const outOfDate = (doses, ledger, changed = hasChanged) =>
  doses
    .flatMap((dose) => {
      const run = ledger[dose.name];
      if (run === undefined) return [{ dose, reason: REASONS[0], began: '' }];
      if (run.outcome === 'failed') return [{ dose, reason: REASONS[1], began: run.began }];
      return changed(run.commit, dose.covers) ? [{ dose, reason: REASONS[2], began: run.began }] : [];
    })
    .sort((a, b) => REASONS.indexOf(a.reason) - REASONS.indexOf(b.reason) || a.began.localeCompare(b.began));
