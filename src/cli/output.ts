import type { Command } from 'commander';
import { Invalid } from '../errors.js';

/** What a call has to say: lines for a person, or one JSON value. */
export interface Result {
  readonly lines: readonly string[];
  readonly json: unknown;
  /** The call did its work, and something of it came to nothing. */
  readonly failed?: boolean;
}

export interface OutputOptions {
  readonly json?: boolean;
}

export const DONE = 0;
export const FAILED = 1;
export const WRONG_USAGE = 2;

/** Words for the person go to standard error, so that standard output holds results alone. */
export const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/** Columns as wide as their widest cell. */
export const table = (rows: readonly (readonly string[])[]): string[] => {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]!.length))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
};

/** A signal came before the call had done its work. */
export class Interrupted extends Error {}

const failure = (error: unknown): void => {
  if (error instanceof Interrupted) {
    say(error.message);
    // What was begun may still be waiting for an answer.
    process.exit(FAILED);
  }
  if (error instanceof Invalid) {
    for (const issue of error.issues.length > 0 ? error.issues : [error.message]) say(issue);
    process.exitCode = WRONG_USAGE;
    return;
  }
  say(error instanceof Error && error.message !== '' ? error.message : String(error));
  process.exitCode = FAILED;
};

/** Adds `--json` to a call, prints its result and turns what it throws into a sentence and an exit code. */
export const prints = <Arguments extends unknown[]>(
  command: Command,
  work: (...given: Arguments) => Promise<Result>,
): Command =>
  command.option('--json', 'print one JSON value').action(async (...given: unknown[]) => {
    try {
      const { lines, json, failed } = await work(...(given as Arguments));
      const text = command.opts<OutputOptions>().json ? [JSON.stringify(json)] : lines;
      for (const line of text) process.stdout.write(`${line}\n`);
      if (failed) process.exitCode = FAILED;
    } catch (error) {
      failure(error);
    }
  });
