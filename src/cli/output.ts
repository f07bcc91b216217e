import type { Command } from 'commander';
import { Invalid } from '../errors.js';
import { ConfigError, EXIT_CONFIG } from '../runtime/config.js';
import { print, printable, printJson, say } from '../runtime/terminal.js';

/** The result of a call: lines for people, and one JSON value for programs. */
export interface Result {
  readonly lines: readonly string[];
  readonly json: unknown;
  /** True if the call finished, but a part of the call failed. */
  readonly failed?: boolean;
}

export interface OutputOptions {
  readonly json?: boolean;
}

export const FAILED = 1;
export const WRONG_USAGE = 2;
/** A check, whose code 1 says that it found something, could not be completed. */
export const UNCHECKED = 3;

type Cell = string | number | boolean | readonly string[] | null | undefined;

/** Formats rows as aligned columns. An absent value is shown as a dash. */
export const table = (headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] => {
  const shown = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell ?? '-'))));
  const widths = headings.map((_, column) => shown.reduce((widest, row) => Math.max(widest, row[column]!.length), 0));
  return shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
};

/** Converts positions to strings, because they may exceed the integers that JSON readers represent exactly. */
export const positionsAsStrings = (row: object): object => {
  const isPosition = (name: string): boolean => name === 'position' || name === 'revision';
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, isPosition(name) ? String(value) : (value as unknown)]),
  );
};

/** The call was interrupted by a signal. */
export class Interrupted extends Error {}

const failure = (error: unknown, failed: number): void => {
  if (error instanceof Interrupted) {
    say(error.message);
    // The process exits at once, because pending operations may still wait for a response.
    process.exit(failed);
  }
  if (error instanceof Invalid) {
    for (const issue of error.issues.length > 0 ? error.issues : [error.message]) say(issue);
    process.exitCode = WRONG_USAGE;
    return;
  }
  say(error instanceof Error && error.message !== '' ? error.message : String(error));
  process.exitCode = error instanceof ConfigError ? EXIT_CONFIG : failed;
};

/**
 * Sets the action of a command: adds `--json`, prints the result of `work`, and turns an error into a message and an
 * exit code.
 * @param failed the exit code after an error that is neither wrong usage nor a wrong setting
 */
export const prints = <Arguments extends unknown[]>(
  command: Command,
  work: (...args: Arguments) => Promise<Result>,
  failed = FAILED,
): Command =>
  command.option('--json', 'print one JSON value').action(async (...args: unknown[]) => {
    try {
      const result = await work(...(args as Arguments));
      if (command.opts<OutputOptions>().json) printJson(result.json);
      else print(result.lines);
      if (result.failed) process.exitCode = FAILED;
    } catch (error) {
      failure(error, failed);
    }
  });

const WIDTH = 24;
const TERMINAL_INTERVAL_MS = 100;
const LOG_INTERVAL_MS = 2_000;

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
export const count = (value: number): string => whole.format(value);

const timeLeft = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} s left` : `${Math.ceil(seconds / 60)} min left`;

/** Shows progress on standard error: a bar on a terminal, otherwise a line every 2 s. */
export class Progress {
  private readonly started = performance.now();
  private shown = -Infinity;
  private text = '';

  constructor(private readonly unit: string) {}

  /**
   * @param done how many units are done so far
   * @param fraction progress from 0 to 1; undefined if the total is unknown
   */
  update(done: number, fraction: number | undefined): void {
    const now = performance.now();
    const seconds = (now - this.started) / 1_000;
    const bar =
      fraction === undefined ? '' : `${this.bar(fraction)} ${String(Math.floor(fraction * 100)).padStart(3)} %  `;
    const rate = `${count(done / Math.max(seconds, 0.001))} ${this.unit}/s`;
    const left =
      fraction === undefined || fraction === 0 || fraction === 1
        ? ''
        : `, ${timeLeft((seconds * (1 - fraction)) / fraction)}`;
    this.text = `${bar}${count(done)} ${this.unit}, ${rate}${left}`;
    if (now - this.shown < (process.stderr.isTTY ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.shown = now;
    this.write();
  }

  /** Prints a line above the bar. */
  note(line: string): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    say(line);
  }

  /** Prints the final state and a line break. */
  end(): void {
    if (this.text === '') return;
    this.write();
    if (process.stderr.isTTY) process.stderr.write('\n');
  }

  private bar(fraction: number): string {
    const full = Math.round(fraction * WIDTH);
    return `[${'█'.repeat(full)}${'·'.repeat(WIDTH - full)}]`;
  }

  private write(): void {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${this.text}`);
    else say(this.text);
  }
}

/**
 * Runs work that shows its progress in bars. The bars end with the work, even if the work fails.
 * @param units what each bar counts, by the name of the bar
 */
export const withProgress = async <Name extends string, Result>(
  units: Readonly<Record<Name, string>>,
  work: (bars: Readonly<Record<Name, Progress>>) => Promise<Result>,
): Promise<Result> => {
  const bars = Object.fromEntries(
    Object.entries<string>(units).map(([name, unit]) => [name, new Progress(unit)]),
  ) as Record<Name, Progress>;
  try {
    return await work(bars);
  } finally {
    for (const bar of Object.values<Progress>(bars)) bar.end();
  }
};

/** Signals that interrupt a call. Ctrl-C, a supervisor and a closed terminal send these signals. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Calls `onSignalled` on the first signal. A second signal ends the process at once.
 * @returns a function that stops listening for signals
 */
export const onFirstSignal = (onSignalled: (signal: NodeJS.Signals) => void): (() => void) => {
  let isSignalled = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isSignalled) process.exit(FAILED);
    isSignalled = true;
    onSignalled(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
};
