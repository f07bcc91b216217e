import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Goal, Line } from './goal.js';
import { nameOf } from './results.js';
import { type Quartiles, quartilesOf } from './statistics.js';
import { formatFigure, table } from './table.js';

const run = promisify(execFile);

/** A built version of the bench. */
interface Build {
  readonly folder: string;
  /** The compiled bench, relative to the folder. */
  readonly main: string;
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const checkOut = async (commit: string, folder: string): Promise<Build> => {
  await run('git', ['worktree', 'add', '--detach', folder, commit]);
  say(`Installing and building ${commit}`);
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
  await run('npm', ['run', 'build'], { cwd: folder });
  const { scripts } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  return { folder, main: /\S+main\.js/.exec(scripts['bench'] ?? '')?.[0] ?? 'dist/bench/main.js' };
};

/**
 * Runs one goal with a build.
 * @param own this build, whose bench runs the goals that start any build
 * @returns the measured lines in the order of the goal
 */
const measure = async (
  build: Build,
  own: Build,
  { name, startsAnyBuild = false }: Goal,
  options: readonly string[],
): Promise<readonly Line[]> => {
  const bench = startsAnyBuild ? own : build;
  const args = [bench.main, name, '--json', ...options];
  const env = { ...process.env, ...(startsAnyBuild && { BENCH_BUILD: build.folder }) };
  const { stdout } = await run(process.execPath, args, { cwd: bench.folder, env, maxBuffer: 64 * 1024 * 1024 });
  return (JSON.parse(stdout) as { lines: Line[] }).lines;
};

/** Finds the line of another build. A line that was renamed is recognised by its place, if no line was added or removed. */
const sameLine = (others: readonly Line[], lines: readonly Line[], line: Line): Line | undefined =>
  others.find((other) => nameOf(other) === nameOf(line)) ??
  (others.length === lines.length ? others[lines.indexOf(line)] : undefined);

/** Returns the required ratio of a line, and whether it is reached; empty if no ratio is required. */
export const requirement = ({ ofOtherBuild, more = true }: Line, { median }: Quartiles): string => {
  if (ofOtherBuild === undefined) return '';
  const reaches = (mark: number): boolean => (more ? median >= mark : median <= mark);
  const met = reaches(ofOtherBuild.aim) ? 'aim' : reaches(ofOtherBuild.must) ? 'must' : 'NOT MET';
  return `${more ? '≥' : '≤'} ${formatFigure(ofOtherBuild.must)}, ${met}`;
};

/**
 * Measures goals alternately with this build and with a build of another commit. Both run on this machine, because
 * figures of different machines or days cannot be compared.
 * @param commit anything that git resolves to a commit
 * @param options options of every run
 * @param rounds how often each build measures each goal
 * @returns a table: the figures of both builds, and the ratio of each round's two figures
 * @throws Error if the commit cannot be built, or if a bench fails
 */
export const compareBuilds = async (
  commit: string,
  goals: readonly Goal[],
  options: readonly string[],
  rounds: number,
): Promise<string> => {
  const parent = await mkdtemp(join(tmpdir(), 'threat-protection-bench-'));
  const folder = join(parent, 'other');
  try {
    const other = await checkOut(commit, folder);
    const own: Build = { folder: process.cwd(), main: process.argv[1]! };
    const figures = new Map<string, { line: Line; other: number[]; own: number[] }>();
    for (const goal of goals)
      for (let round = 1; round <= rounds; round += 1) {
        say(`${goal.name}: round ${round}`);
        // The order changes with each round, so that a machine whose speed changes favours neither build.
        const isOtherFirst = round % 2 === 1;
        const first = await measure(isOtherFirst ? other : own, own, goal, options);
        const second = await measure(isOtherFirst ? own : other, own, goal, options);
        const [others, lines] = isOtherFirst ? [first, second] : [second, first];
        for (const line of lines) {
          const name = nameOf(line);
          const before = sameLine(others, lines, line);
          if (before === undefined) {
            say(`Not compared, because ${commit} does not measure it: ${name}`);
            continue;
          }
          if (nameOf(before) !== name) say(`Compared with another name in ${commit}, ${nameOf(before)}: ${name}`);
          const figure = figures.get(name) ?? { line, other: [], own: [] };
          figures.set(name, figure);
          figure.other.push(before.measured.median);
          figure.own.push(line.measured.median);
        }
      }
    const rows = [...figures].map(([name, figure]) => {
      const ratio = quartilesOf(figure.own.map((value, round) => value / figure.other[round]!));
      const show = (values: readonly number[]): string =>
        `${formatFigure(quartilesOf(values).median)} ${figure.line.unit}`.trim();
      const quartiles = `${formatFigure(ratio.lower)} – ${formatFigure(ratio.upper)}`;
      const required = requirement(figure.line, ratio);
      return [name, show(figure.other), show(figure.own), formatFigure(ratio.median), quartiles, required];
    });
    return table(['measurement', commit, 'this build', 'ratio', 'quartiles', 'required'], rows);
  } finally {
    await run('git', ['worktree', 'remove', '--force', folder]).catch(() => undefined);
    await rm(parent, { recursive: true, force: true });
  }
};
