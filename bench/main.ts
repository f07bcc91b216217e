/**
 * The program of `npm run bench`. It measures every goal, or only the goals named on the command line
 * (`npm run bench -- G3 G5b`). It prints the progress on standard error and the table on standard output.
 */
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { compareBuilds } from './compare-builds.js';
import { type Database, openServer } from './database.js';
import { CleanUp } from './clean-up.js';
import type { Bench, Goal, Growth, Line, Measured, Sizes } from './goal.js';
import { GOALS } from './goals.js';
import { cleanCommit, Results } from './results.js';
import { goalsTable, growthTable } from './table.js';

const USAGE = `Usage: npm run bench -- [GOAL…] [--quick] [--20m] [--events N] [--json] [--against COMMIT]
  GOAL     ${GOALS.map(({ name }) => name).join(', ')}; a prefix such as G3 selects every goal whose name begins with G3
  --quick  smoke run: runs every measurement once, within seconds; the figures are meaningless
  --20m    also measures growth up to 20 M facts (takes minutes and 6 GB of disk)
  --events N  projects a log of N events instead of 400,000; G29 and G30 use at most 200,000
  --json   prints one JSON value instead of tables
  --against COMMIT  builds COMMIT, runs both builds in turn, and prints the ratios of their figures
BENCH_DATABASE_URL is the URL of a PostgreSQL server to use instead of an embedded one.`;

/** Returns the goal with this name, or all goals whose name begins with it. */
const goalsNamed = (wanted: string): readonly Goal[] => {
  const beginning = wanted.toLowerCase();
  const exact = GOALS.filter(({ name }) => name.toLowerCase() === beginning);
  return exact.length > 0 ? exact : GOALS.filter(({ name }) => name.toLowerCase().startsWith(beginning));
};

/** How often each build measures each goal with `--against`. */
const ROUNDS = 3;

const readArgs = () => {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        '20m': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        against: { type: 'string' },
        events: { type: 'string' },
      },
    });
    const goals = positionals.length === 0 ? GOALS : positionals.flatMap(goalsNamed);
    if (goals.length === 0) throw new Error(`Unknown goal: ${positionals.join(', ')}`);
    const events = Number(values.events ?? (values.quick ? 5_000 : 400_000));
    if (!Number.isSafeInteger(events) || events < 1_000) throw new Error('--events is an integer from 1000');
    return { ...values, events, isSized: values.events !== undefined, goals };
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}\n`);
    process.exit(2);
  }
};

const args = readArgs();
if (args.against !== undefined) {
  const optionsOfEachBuild = [
    ...(args.quick ? ['--quick'] : []),
    ...(args.isSized ? ['--events', String(args.events)] : []),
  ];
  process.stdout.write(
    `${await compareBuilds(args.against, args.goals, optionsOfEachBuild, args.quick ? 1 : ROUNDS)}\n`,
  );
  process.exit(0);
}
const started = performance.now();
const say = (line: string): void => {
  process.stderr.write(`${String(Math.round((performance.now() - started) / 1000)).padStart(5)} s  ${line}\n`);
};

const sizes: Sizes = args.quick
  ? { quick: true, facts: 8_000, events: args.events, twenty: false, schedule: { rounds: 1, ms: 20 } }
  : { quick: false, facts: 5_000_000, events: args.events, twenty: args['20m'], schedule: { rounds: 8, ms: 1_000 } };

const server = await openServer(process.env['BENCH_DATABASE_URL'], say);
const commit = cleanCommit();
const machine = {
  processor: `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
  memory: `${Math.round(totalmem() / 2 ** 30)} GB`,
  node: process.version,
  postgres: server.version,
};
const results = new Results('bench/results', machine);
const cleanUp = new CleanUp(say);
cleanUp.add(() => server.stop());
const sharedValues = new Map<string, Promise<unknown>>();
const lines: Line[] = [];
const growths: Growth[] = [];
const bench: Omit<Bench, 'keep'> = {
  sizes,
  say,
  keepGrowth: (growth) => void growths.push(growth),
  onEnd: (end) => cleanUp.add(end),
  database: async () => {
    const database: Database = await server.createDatabase();
    cleanUp.add(() => database.drop());
    return database;
  },
  shared: <T>(name: string, make: () => Promise<T>): Promise<T> => {
    if (!sharedValues.has(name)) sharedValues.set(name, make());
    return sharedValues.get(name) as Promise<T>;
  },
};

const failed: { goal: string; error: string }[] = [];

/** Prints all lines that were measured so far. */
const print = (): void => {
  lines.sort((a, b) => (a.goal < b.goal ? -1 : a.goal > b.goal ? 1 : 0));
  const now = new Date().toISOString();
  if (!args.quick && commit !== undefined && lines.length > 0) say(`Kept in ${results.keep(commit, lines, now)}`);
  else say('Not kept: a smoke run, a tree with changes, or no figure');
  if (args.json) process.stdout.write(`${JSON.stringify({ machine, lines, growths, failed })}\n`);
  else {
    const facts = Object.entries({ date: now.slice(0, 10), ...machine }).map(([name, value]) => `${name} ${value}`);
    const changeOf = (line: Line): string => (args.quick ? '' : results.change(line, commit));
    const parts = [facts.join(' · '), goalsTable(lines, changeOf), ...growths.map(growthTable)];
    if (args.quick) parts.push('This was a smoke run (--quick): its figures are meaningless.');
    process.stdout.write(`${parts.join('\n\n')}\n`);
    for (const { goal } of failed)
      process.stdout.write(`\n${goal} could not be measured; the reason is printed above.\n`);
  }
};

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    say('Stopping');
    print();
    void cleanUp.run().finally(() => process.exit(1));
  });

try {
  for (const goal of args.goals) {
    say(`${goal.name} starts`);
    try {
      const keep = (line: Measured): void => void lines.push({ goal: goal.name, unit: '', ...line });
      for (const line of await goal.run({ ...bench, keep })) keep(line);
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      failed.push({ goal: goal.name, error: text });
      say(`${goal.name} failed: ${text}`);
    }
  }
} finally {
  await cleanUp.run();
}

print();
// The process exits only after its output has been written, because the reader of a pipe may be slow.
process.stdout.write('', () => process.exit(failed.length > 0 ? 1 : 0));
