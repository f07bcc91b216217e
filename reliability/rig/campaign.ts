import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import setUp from '../../test/support/global-setup.js';
import tearDown from '../../test/support/global-teardown.js';
import type { Outcome, Scenario } from '../scenario.js';
import { Scene } from './scene.js';
import { Site } from './site.js';

const begin = Date.now();
const say = (line: string): void => {
  const text = `${String(Math.round((Date.now() - begin) / 1000)).padStart(5)} s  ${line}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
  else process.stderr.write(`${text}\n`);
};

/** Words come often; on no terminal one every ten seconds is enough. */
const teller = (name: string): ((progress: string) => void) => {
  let saidAt = 0;
  return (progress) => {
    if (Date.now() - saidAt < (process.stderr.isTTY ? 100 : 10_000)) return;
    saidAt = Date.now();
    say(`${name}: ${progress}`);
  };
};

const attempt = async (
  name: string,
  { how, seed }: { how: string; seed: number },
  work: (scene: Scene) => Promise<Outcome>,
): Promise<Outcome> => {
  const scene = new Scene(seed, teller(`${name}${how}`));
  try {
    const outcome = await work(scene);
    if (outcome.findings.length > 0 && how === '') say(`${name}: the history is kept in ${await scene.save()}`);
    return outcome;
  } catch (error) {
    say(`${name}: the history is kept in ${await scene.save()}`);
    return { dose: '-', seen: '-', findings: [`The run itself failed: ${(error as Error).stack}`] };
  } finally {
    await scene.end();
  }
};

const cut = (text: string): string => (text.length > 400 ? `${text.slice(0, 400)}…` : text);

/** How many processes wanted to run at once in the last minute; time limits are for a machine that has them free. */
const load = (): string => `load ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`;

const resultOf = ({ findings, seen }: Outcome): string =>
  findings.length === 0 ? `stood: ${seen}` : `FELL (${findings.length}): ${cut(findings[0]!)} [${seen}]`;

const counterOf = ({ findings: [first] }: Outcome, guard: string): { text: string; found: boolean } => {
  if (first === undefined) return { text: `NOTHING FOUND without: ${guard}`, found: false };
  if (first.startsWith('The run itself failed')) return { text: first, found: false };
  return { text: `without "${guard}": ${first}`, found: true };
};

const OVERRIDES = ['rounds', 'events', 'seconds'] as const;

/**
 * Runs the scenarios that the command line names, or all of them, each with its counter-test:
 * `[F1 S18 …] [--seed N] [--rounds N] [--events N] [--seconds N] [--no-counter]`. The last three numbers replace those of
 * the full dose. Prints the progress on standard error and a table on standard output. Ends the process, with exit code 1
 * if a run has findings or a counter-test has none.
 */
export const campaign = async (scenarios: readonly Scenario[]): Promise<never> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: '1' },
      'no-counter': { type: 'boolean', default: false },
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
        '[F1 S18 …] [--seed N] [--rounds N] [--events N] [--seconds N] [--no-counter]',
    );
    process.exit(2);
  }
  const chosen = scenarios.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

  /** Returns the full dose with the numbers of the command line. */
  const doseOf = ({ full }: Scenario): object => {
    const dose: Record<string, unknown> = { ...full };
    for (const name of OVERRIDES) if (values[name] !== undefined && name in dose) dose[name] = Number(values[name]);
    return dose;
  };

  const rows: string[][] = [['name', 'dose', 'result', 'counter-test']];
  let failed = 0;
  const site = new Site();
  await setUp();
  try {
    for (const scenario of chosen) {
      const { name, asvs, full, counterTest, guard } = scenario;
      const what = scenario.what + (asvs ? ` [ASVS ${Object.keys(asvs).join(', ')}]` : '');
      say(`${name}: ${what}`);
      const unfit = await scenario.unfit?.();
      if (unfit !== undefined) {
        rows.push([`${name} ${what}`, '-', `skipped: ${unfit}`, '-']);
        continue;
      }
      const outcome = await attempt(name, { how: '', seed }, (scene) => scenario.run(scene, doseOf(scenario), site));
      for (const finding of outcome.findings.slice(0, 20)) console.error(`\n${name}: ${finding}`);
      const result = resultOf(outcome);
      let counter = { text: '-', found: true };
      if (!values['no-counter'])
        counter = counterOf(
          await attempt(name, { how: ' without its guard', seed }, (scene) =>
            scenario.without(scene, { ...full, ...counterTest }),
          ),
          guard,
        );
      if (outcome.findings.length > 0) failed += 1;
      if (!counter.found) failed += 1;
      rows.push([`${name} ${what}`, `${outcome.dose} (${load()})`, result, counter.text]);
      say(`${name}: ${cut(result)}`);
      say(`${name}: ${cut(counter.text)}`);
    }
    for (const finding of await site.close()) {
      failed += 1;
      console.error(`\nAfter all of them: ${finding}`);
    }
  } finally {
    await site.close();
    await tearDown();
  }
  process.stderr.write('\n');
  for (const row of rows)
    console.log(`| ${row.map((cell) => cut(cell).replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`);
  process.exit(failed === 0 ? 0 : 1);
};
