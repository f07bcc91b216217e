import type { Command } from 'commander';
import { Invalid } from '../../errors.js';
import { ConfigError, EXIT_CONFIG } from '../../runtime/config.js';
import { print, printable, printJson, say } from '../../runtime/terminal.js';

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

type Cell = string | number | boolean | readonly string[] | null | undefined;

/** Formats rows as aligned columns. An absent value is shown as a dash. */
export const table = (headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] => {
  const shown = [headings, ...rows].map((row) => row.map((cell) => printable(String(cell ?? '-'))));
  const widths = headings.map((_, column) => Math.max(...shown.map((row) => row[column]!.length)));
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

const failure = (error: unknown): void => {
  if (error instanceof Interrupted) {
    say(error.message);
    // The process exits at once, because pending operations may still wait for a response.
    process.exit(FAILED);
  }
  if (error instanceof Invalid) {
    for (const issue of error.issues.length > 0 ? error.issues : [error.message]) say(issue);
    process.exitCode = WRONG_USAGE;
    return;
  }
  say(error instanceof Error && error.message !== '' ? error.message : String(error));
  process.exitCode = error instanceof ConfigError ? EXIT_CONFIG : FAILED;
};

/**
 * Sets the action of a command: adds `--json`, prints the result of `work`, and turns an error into a message and an
 * exit code.
 */
export const prints = <Arguments extends unknown[]>(
  command: Command,
  work: (...args: Arguments) => Promise<Result>,
): Command =>
  command.option('--json', 'print one JSON value').action(async (...args: unknown[]) => {
    try {
      const { lines, json, failed } = await work(...(args as Arguments));
      if (command.opts<OutputOptions>().json) printJson(json);
      else print(lines);
      if (failed) process.exitCode = FAILED;
    } catch (error) {
      failure(error);
    }
  });
