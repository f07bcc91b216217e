import { Logger } from '@nestjs/common';
import { Counter, type Registry } from 'prom-client';
import { throttle } from './throttle.js';

/** How often one task may write a line: while a dependency is away, a task may fail many times a second. ms */
const LINE_EVERY_MS = 60_000;

/** Tells the operator of failures that no client is told of: a line a minute, and counters in `/metrics`. */
export interface FailureReport {
  /** The task failed, and is tried again. */
  failed(error: unknown): void;
  /** Rows were dropped, because too many wait. */
  dropped(rows: number): void;
}

const counterOf = (registry: Registry, name: string, help: string): Counter<'task'> =>
  (registry.getSingleMetric(name) as Counter<'task'> | undefined) ??
  new Counter({ name, help, labelNames: ['task'], registers: [registry] });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
/** For a failure that can only be a defect. */
export const stackOf = (error: unknown): string => (error instanceof Error ? error.stack! : String(error));

/**
 * @param task what failed, as a label and in the line: `write usage`
 * @param textOf what the line says of the error
 */
export const reportFailures = (
  task: string,
  registry: Registry,
  textOf: (error: unknown) => string = messageOf,
  write: (line: string) => void = (line) => new Logger('background').warn(line),
): FailureReport => {
  const failures = counterOf(
    registry,
    'threat_protection_background_failures_total',
    'Failures of tasks in the background, which are tried again, by task',
  );
  const drops = counterOf(
    registry,
    'threat_protection_background_dropped_rows_total',
    'Rows that were dropped because too many were waiting to be written, by task',
  );
  failures.inc({ task }, 0);
  drops.inc({ task }, 0);
  const sayFailed = throttle(
    (error: unknown, count) => write(`Failed to ${task} (${count} since the last line): ${textOf(error)}`),
    LINE_EVERY_MS,
  );
  const sayDropped = throttle(
    (_: unknown, count) => write(`Failed to ${task}: ${count} rows dropped since the last line; too many are waiting`),
    LINE_EVERY_MS,
  );
  return {
    failed: (error) => {
      failures.inc({ task });
      sayFailed(error);
    },
    dropped: (rows) => {
      drops.inc({ task }, rows);
      sayDropped(undefined, rows);
    },
  };
};
