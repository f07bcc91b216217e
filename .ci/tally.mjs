/**
 * What Jest's reports come to, a later one correcting an earlier one spec by spec.
 *   node .ci/tally.mjs REPORT…            N passed, N failed; before it, what failed at first, on standard error
 *   node .ci/tally.mjs --failed REPORT…   the specs that failed, a line each
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({ options: { failed: { type: 'boolean' } }, allowPositionals: true });
const specs = new Map();
const failedAtFirst = [];

/** A spec that could not be run has no tests to count, and is one failure. */
const testsOf = ({ assertionResults, status, name }) =>
  assertionResults.length === 0 && status === 'failed' ? [{ status, fullName: name }] : assertionResults;

for (const report of positionals)
  for (const spec of JSON.parse(readFileSync(report, 'utf8')).testResults) {
    if (specs.get(spec.name)?.status === 'failed' && spec.status === 'passed')
      failedAtFirst.push(...testsOf(specs.get(spec.name)).filter(({ status }) => status === 'failed'));
    specs.set(spec.name, spec);
  }

if (values.failed) {
  for (const { name, status } of specs.values()) if (status === 'failed') console.log(name);
} else {
  for (const { fullName } of failedAtFirst) console.error(`FAILED AT FIRST: ${fullName}`);
  const tests = [...specs.values()].flatMap(testsOf);
  const count = (...which) => tests.filter(({ status }) => which.includes(status)).length;
  const skipped = count('pending', 'todo', 'skipped', 'disabled');
  console.log(`${count('passed')} passed, ${count('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
}
