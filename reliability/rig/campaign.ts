import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import setUp from '../../test/support/global-setup.js';
import tearDown from '../../test/support/global-teardown.js';
import type { DoseName, Fault, Outcome } from '../faults/fault.js';
import { Scene } from './scene.js';

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
  fault: Fault,
  { how, seed }: { how: string; seed: number },
  work: (scene: Scene) => Promise<Outcome>,
): Promise<Outcome> => {
  const scene = new Scene(seed, teller(`${fault.name}${how}`));
  try {
    const outcome = await work(scene);
    if (outcome.findings.length > 0 && how === '') say(`${fault.name}: the history is kept in ${await scene.save()}`);
    return outcome;
  } catch (error) {
    say(`${fault.name}: the history is kept in ${await scene.save()}`);
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

/**
 * Runs those that the command line names, each with its counter-test: `[F1 F4 …] [--dose short|full] [--seed N]
 * [--rounds N] [--events N] [--seconds N] [--no-counter]`, the numbers instead of the dose's own. Prints how far it is
 * on standard error and a table on standard output, and ends the process: with 1 where something was found.
 * @param finish what is still to be judged once all have run, on the database they ran on
 */
export const campaign = async (
  faults: readonly Fault[],
  command: string,
  finish: () => Promise<readonly string[]> = async () => [],
): Promise<never> => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      dose: { type: 'string', default: 'full' },
      seed: { type: 'string', default: '1' },
      'no-counter': { type: 'boolean', default: false },
      rounds: { type: 'string' },
      events: { type: 'string' },
      seconds: { type: 'string' },
    },
  });
  const dose = values.dose as DoseName;
  const seed = Number(values.seed);
  const chosen = faults.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  if ((dose !== 'short' && dose !== 'full') || !Number.isInteger(seed) || chosen.length === 0) {
    console.error(
      `Usage: ${command} -- [${faults[0]!.name} …] [--dose short|full] [--seed N] [--rounds N] [--events N] [--seconds N] [--no-counter]`,
    );
    process.exit(2);
  }

  /** The dose, with what the command line says otherwise. */
  const doseOf = ({ doses }: Fault): object => {
    const changed: Record<string, unknown> = { ...doses[dose] };
    for (const name of ['rounds', 'events', 'seconds'] as const)
      if (values[name] !== undefined && name in changed) changed[name] = Number(values[name]);
    return changed;
  };

  const rows: string[][] = [['name', 'dose', 'result', 'counter-test']];
  let failed = 0;
  await setUp();
  try {
    for (const fault of chosen) {
      const { name, what } = fault;
      say(`${name}: ${what}`);
      const unfit = await fault.unfit?.();
      if (unfit !== undefined) {
        rows.push([`${name} ${what}`, '-', `skipped: ${unfit}`, '-']);
        continue;
      }
      const outcome = await attempt(fault, { how: '', seed }, (scene) => fault.run(scene, doseOf(fault)));
      for (const finding of outcome.findings.slice(0, 20)) console.error(`\n${name}: ${finding}`);
      const result = resultOf(outcome);
      let counter = { text: '-', found: true };
      if (!values['no-counter'])
        counter = counterOf(
          await attempt(fault, { how: ' without its guard', seed }, (scene) => fault.without(scene)),
          fault.guard,
        );
      if (outcome.findings.length > 0) failed += 1;
      if (!counter.found) failed += 1;
      rows.push([`${name} ${what}`, `${outcome.dose} (${load()})`, result, counter.text]);
      say(`${name}: ${cut(result)}`);
      say(`${name}: ${cut(counter.text)}`);
    }
    for (const finding of await finish()) {
      failed += 1;
      console.error(`\nAfter all of them: ${finding}`);
    }
  } finally {
    await tearDown();
  }
  process.stderr.write('\n');
  for (const row of rows)
    console.log(`| ${row.map((cell) => cut(cell).replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`);
  process.exit(failed === 0 ? 0 : 1);
};
