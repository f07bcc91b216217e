import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Line } from './goal.js';
import { formatFigure } from './table.js';

/** The machine of a run. Figures of different kinds of machines cannot be compared. */
export interface Machine {
  readonly processor: string;
  readonly memory: string;
  readonly node: string;
  readonly postgres: string;
}

/** The lines that were measured with one commit on one kind of machine. */
export interface Result {
  readonly commit: string;
  readonly machine: Machine;
  readonly lines: readonly (Line & { readonly measuredAt: string })[];
}

/** A line that is worse by more than this share than the last one is marked. */
const MARKED_SHARE = 0.05;

/** Names a line, also across builds. */
export const nameOf = ({ goal, what }: Pick<Line, 'goal' | 'what'>): string => `${goal}: ${what}`;

/** Returns the commit of the working tree; undefined if the tree has changes, or is no clone. */
export const cleanCommit = (): string | undefined => {
  const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();
  try {
    return git('status', '--porcelain', '--', 'src', 'projections', 'bench/*.ts', 'bench/*.cs') === ''
      ? git('rev-parse', '--short=8', 'HEAD')
      : undefined;
  } catch {
    return undefined;
  }
};

/** Keeps the results of runs: one folder for each kind of machine, and in it one file for each commit. */
export class Results {
  private readonly folder: string;
  private readonly results: readonly Result[];

  constructor(
    parent: string,
    private readonly machine: Machine,
  ) {
    const kind = [machine.processor, machine.memory, `node ${machine.node.split('.', 1)[0]!}`].join(' ');
    this.folder = join(parent, kind.toLowerCase().replaceAll(/[^a-z0-9.]+/g, '-'));
    mkdirSync(this.folder, { recursive: true });
    this.results = readdirSync(this.folder)
      .filter((file) => file.endsWith('.json'))
      .map((file) => JSON.parse(readFileSync(join(this.folder, file), 'utf8')) as Result);
  }

  /**
   * Adds lines to the file of a commit, in place of earlier lines of the same names.
   * @returns the path of the file
   */
  keep(commit: string, lines: readonly Line[], measuredAt: string): string {
    const before = this.results.find((result) => result.commit === commit)?.lines ?? [];
    const byName = new Map(
      [...before, ...lines.map((line) => ({ ...line, measuredAt }))].map((line) => [nameOf(line), line]),
    );
    const result: Result = { commit, machine: this.machine, lines: [...byName.values()] };
    const path = join(this.folder, `${commit}.json`);
    writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
    return path;
  }

  /**
   * Compares a line with the last one of the same name that another commit has on this kind of machine.
   * @returns such as `0.93 × since 4f4e75d4, WORSE`; empty if there is none
   */
  change(line: Line, commit: string | undefined): string {
    const last = this.results
      .filter((result) => result.commit !== commit)
      .flatMap((result) => result.lines.map((earlier) => ({ ...earlier, commit: result.commit })))
      .filter((earlier) => nameOf(earlier) === nameOf(line))
      .sort((a, b) => (a.measuredAt < b.measuredAt ? 1 : -1))[0];
    if (last === undefined || last.measured.median === 0) return '';
    const ratio = line.measured.median / last.measured.median;
    const isWorse = (line.more ?? true) ? ratio < 1 - MARKED_SHARE : ratio > 1 / (1 - MARKED_SHARE);
    return `${formatFigure(ratio)} × since ${last.commit}${isWorse ? ', WORSE' : ''}`;
  }
}
