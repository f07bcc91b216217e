/**
 * Summarizes Jest's report: the twenty slowest specs, beside what they took at the last release, and the counts.
 *   node .ci/summary.mjs REPORT [BASELINE]
 * BASELINE maps specs to seconds; `node .ci/summary.mjs REPORT --seconds` prints such a map, and a release keeps it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const SLOWEST = 20;
const [report, second] = process.argv.slice(2);
const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
const specs = testResults
  .map(({ name, startTime, endTime }) => ({
    name: relative('.', name),
    seconds: Math.round((endTime - startTime) / 1000),
  }))
  .sort((a, b) => b.seconds - a.seconds);

if (second === '--seconds') {
  console.log(JSON.stringify(Object.fromEntries(specs.map(({ name, seconds }) => [name, seconds])), undefined, 2));
} else {
  const baseline = second !== undefined && existsSync(second) ? JSON.parse(readFileSync(second, 'utf8')) : {};
  console.log(`The ${SLOWEST} slowest of ${specs.length} specs, in seconds (last release in brackets):`);
  for (const { name, seconds } of specs.slice(0, SLOWEST))
    console.log(`${String(seconds).padStart(5)} (${baseline[name] ?? 'new'})  ${name}`);
  // A spec that could not be run has no tests to count, and is one failure.
  const tests = testResults.flatMap(({ assertionResults, status }) =>
    assertionResults.length === 0 && status === 'failed' ? [{ status }] : assertionResults,
  );
  const count = (...which) => tests.filter(({ status }) => which.includes(status)).length;
  const skipped = count('pending', 'todo', 'skipped', 'disabled');
  console.log(`\n${count('passed')} passed, ${count('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
}
