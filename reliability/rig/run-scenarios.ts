import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import setUp from '../../test/support/global-setup.js';
import tearDown from '../../test/support/global-teardown.js';
import type { Outcome, Scenario } from '../scenario.js';
import { RunContext } from './run-context.js';
import { SharedServices } from './shared-services.js';

const begin = Date.now();
const say = (line: string): void => {
  const text = `${String(Math.round((Date.now() - begin) / 1000)).padStart(5)} s  ${line}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
  else process.stderr.write(`${text}\n`);
};

/** Returns a function that prints the progress at most every 100 ms on a terminal, otherwise at most every 10 s. */
const progressReporter = (name: string): ((progress: string) => void) => {
  let reportedAt = 0;
  return (progress) => {
    if (Date.now() - reportedAt < (process.stderr.isTTY ? 100 : 10_000)) return;
    reportedAt = Date.now();
    say(`${name}: ${progress}`);
  };
};

const attempt = async (
  name: string,
  { how, seed }: { how: string; seed: number },
  work: (context: RunContext) => Promise<Outcome>,
): Promise<Outcome> => {
  const context = new RunContext(seed, progressReporter(`${name}${how}`));
  try {
    const outcome = await work(context);
    if (outcome.findings.length > 0 && how === '') say(`${name}: the history of the run is in ${await context.save()}`);
    return outcome;
  } catch (error) {
    say(`${name}: the history of the run is in ${await context.save()}`);
    return { workload: '-', observed: '-', findings: [`The run itself failed: ${(error as Error).stack}`] };
  } finally {
    await context.end();
  }
};

const truncate = (text: string): string => (text.length > 400 ? `${text.slice(0, 400)}…` : text);

/** Returns the load average as text, because the time limits of scenarios assume an otherwise idle machine. */
const load = (): string => `load ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`;

const resultOf = ({ findings, observed }: Outcome): string =>
  findings.length === 0
    ? `passed: ${observed}`
    : `FAILED (${findings.length}): ${truncate(findings[0]!)} [${observed}]`;

const controlResultOf = (
  { findings }: Outcome,
  { guard, controlFinding = /^(?!The run itself failed)/ }: Scenario,
): { text: string; found: boolean } => {
  const expected = findings.find((finding) => controlFinding.test(finding));
  if (expected !== undefined) return { text: `without "${guard}": ${expected}`, found: true };
  if (findings.length === 0) return { text: `NO FINDING without the guard: ${guard}`, found: false };
  return { text: `NOT THE EXPECTED FINDING without the guard: ${findings[0]}`, found: false };
};

const OVERRIDES = ['rounds', 'events', 'seconds'] as const;

/**
 * Runs the scenarios named on the command line, or all scenarios, each with its negative control:
 * `[F1 S19 …] [--seed N] [--rounds N] [--events N] [--seconds N] [--no-control]`. `--rounds`, `--events` and
 * `--seconds` override values of the full scale. Prints the progress on standard error and a table on standard output.
 * Ends the process; the exit code is 1 if a run has findings or a negative control lacks its finding.
 */
export const runScenarios = async (scenarios: readonly Scenario[]): Promise<never> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: '1' },
      'no-control': { type: 'boolean', default: false },
      rounds: { type: 'string' },
      events: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  const seed = Number(values.seed);
  const unknown = positionals.filter((name) => !scenarios.some((scenario) => scenario.name === name));
  if (!Number.isInteger(seed) || unknown.length > 0) {
    console.error(
      `${unknown.length > 0 ? `Unknown scenarios: ${unknown.join(', ')}. ` : ''}Usage: npm run reliability -- ` +
        '[F1 S19 …] [--seed N] [--rounds N] [--events N] [--seconds N] [--no-control]',
    );
    process.exit(2);
  }
  const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

  /** Returns the full scale with the overrides of the command line. */
  const scaleOf = ({ full }: Scenario): object => {
    const scale: Record<string, unknown> = { ...full };
    for (const name of OVERRIDES) if (values[name] !== undefined && name in scale) scale[name] = Number(values[name]);
    return scale;
  };

  const rows: string[][] = [['scenario', 'workload', 'result', 'negative control']];
  let failed = 0;
  const sharedServices = new SharedServices();
  await setUp();
  try {
    for (const scenario of chosen) {
      const { name, asvs, full, controlScale } = scenario;
      const what = scenario.what + (asvs ? ` [ASVS ${Object.keys(asvs).join(', ')}]` : '');
      say(`${name}: ${what}`);
      const skipReason = await scenario.skipReason?.();
      if (skipReason !== undefined) {
        rows.push([`${name} ${what}`, '-', `skipped: ${skipReason}`, '-']);
        continue;
      }
      const outcome = await attempt(name, { how: '', seed }, (context) =>
        scenario.run(context, scaleOf(scenario), sharedServices),
      );
      for (const finding of outcome.findings.slice(0, 20)) console.error(`\n${name}: ${finding}`);
      const result = resultOf(outcome);
      let control = { text: '-', found: true };
      if (!values['no-control'])
        control = controlResultOf(
          await attempt(name, { how: ' (negative control)', seed }, (context) =>
            scenario.withoutGuard(context, { ...full, ...controlScale }),
          ),
          scenario,
        );
      if (outcome.findings.length > 0) failed += 1;
      if (!control.found) failed += 1;
      rows.push([`${name} ${what}`, `${outcome.workload} (${load()})`, result, control.text]);
      say(`${name}: ${truncate(result)}`);
      say(`${name}: ${truncate(control.text)}`);
    }
    for (const finding of await sharedServices.close()) {
      failed += 1;
      console.error(`\nAfter all scenarios: ${finding}`);
    }
  } finally {
    await sharedServices.close();
    await tearDown();
  }
  process.stderr.write('\n');
  for (const row of rows)
    console.log(`| ${row.map((cell) => truncate(cell).replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`);
  process.exit(failed === 0 ? 0 : 1);
};
