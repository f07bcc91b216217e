/**
 * Runs the doses that are out of date, one after the other, on a machine that does nothing else. Writes the ledger after
 * each dose, so that an interrupted night is continued by the next.
 *   node .ci/night.mjs [DOSE…] [--list] [--minutes N]
 * DOSE: runs these, out of date or not. `--list`: prints what is out of date, and runs nothing. `--minutes N`: begins no
 * dose after N minutes. Exits with 1 if a dose failed. What a dose prints is in night-report/DOSE.log. F32 and the specs
 * of a real EventStoreDB need the variables that docs/internals/recipes.md names, and are skipped without them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { coversOfScenario, outOfDate, readLedger, SERVICE, writeLedger } from './ledger.mjs';

const LEDGER = 'reliability/ledger.json';
const REPORT = 'night-report';
/** No dose may take longer. */
const MAX_MS = 40 * 60_000;
/** What makes a scenario last at most 40 minutes. */
const SCALE = { F21: ['--events', '1000000'] };
const JEST = ['node', '--max-semi-space-size=64', '--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];

const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { list: { type: 'boolean', default: false }, minutes: { type: 'string', default: 'Infinity' } },
});

run('npm', 'run', '--silent', 'build');
const { SCENARIOS } = await import('../dist/reliability/scenarios.js');
const { GOALS } = await import('../dist/bench/goals.js');
const specsOf = (project) => {
  const [node, ...args] = JEST;
  const listed = run(node, ...args, '--selectProjects', project, '--listTests').split('\n');
  return listed
    .filter((line) => line.endsWith('.spec.ts'))
    .map((path) => relative('.', path))
    .sort();
};
/** @type {import('./ledger.mjs').Dose[]} */
const doses = [
  ...['release', 'eventstore', 'full-size'].flatMap((project) =>
    specsOf(project).map((spec) => ({
      name: `${project} ${spec}`,
      // `--selectProjects` takes all words after it for names of projects.
      command: [...JEST, spec, '--selectProjects', project],
      covers: [...SERVICE, 'test/support', spec],
    })),
  ),
  ...SCENARIOS.map(({ name }) => ({
    name,
    command: ['node', 'dist/reliability/main.js', name, ...(SCALE[name] ?? [])],
    covers: [...SERVICE, ...coversOfScenario(name)],
  })),
  ...GOALS.flatMap(({ name }) => [
    { name, command: ['node', 'dist/bench/main.js', name], covers: [...SERVICE, 'bench', ':!bench/results'] },
    {
      name: `${name} on Node 24`,
      command: ['npx', '--yes', 'node@24', 'dist/bench/main.js', name],
      covers: [...SERVICE, 'bench', ':!bench/results'],
    },
  ]),
];

const unknown = positionals.filter((name) => !doses.some((dose) => dose.name === name));
if (unknown.length > 0) {
  console.error(`No dose is named ${unknown.join(', ')}. The doses are:\n${doses.map(({ name }) => name).join('\n')}`);
  process.exit(2);
}
const due =
  positionals.length > 0
    ? doses.filter(({ name }) => positionals.includes(name)).map((dose) => ({ dose, reason: 'named' }))
    : outOfDate(doses, readLedger(LEDGER));
console.log(`${due.length} of ${doses.length} doses to run`);
if (options.list) {
  for (const { dose, reason } of due) console.log(`${dose.name}: ${reason}`);
  process.exit(0);
}
if (run('git', 'status', '--porcelain', '--untracked-files=no', '--', '.', `:!${LEDGER}`) !== '') {
  console.error('The tree has changes, so no commit says what would run. Commit them first.');
  process.exit(2);
}

mkdirSync(REPORT, { recursive: true });
const commit = run('git', 'rev-parse', '--short=8', 'HEAD').trim();
const until = performance.now() + Number(options.minutes) * 60_000;
let failed = 0;
for (const { dose, reason } of due) {
  if (performance.now() > until) break;
  const { name, command } = dose;
  const [program, ...args] = command;
  const path = `${REPORT}/${name.replaceAll(/[^\w.]+/g, '-')}.log`;
  const output = openSync(path, 'w');
  const began = new Date();
  const { status } = spawnSync(program, args, { stdio: ['ignore', output, output], timeout: MAX_MS });
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const last = (lines.at(-1) ?? '').slice(0, 300);
  const outcome =
    status !== 0
      ? 'failed'
      : /\| skipped: |^Tests: +\d+ skipped, \d+ total/m.test(lines.join('\n'))
        ? 'skipped'
        : 'passed';
  if (outcome === 'failed') failed += 1;
  const seconds = Math.round((Date.now() - began.getTime()) / 1000);
  writeLedger(LEDGER, {
    ...readLedger(LEDGER),
    [name]: { commit, began: began.toISOString(), seconds, outcome, last },
  });
  console.log(`${name} (${reason}): ${outcome} in ${seconds} s: ${last}`);
}
process.exit(failed === 0 ? 0 : 1);
