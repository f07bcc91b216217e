import { Logger } from '@nestjs/common';
import { Counter, type Registry } from 'prom-client';

const INTERVAL_MS = 1_000;

/**
 * Passes on at most one item per `intervalMs`, with the number of items since the last item that was passed on. Clients
 * can cause any number of items.
 */
export const throttle = <Item>(
  pass: (item: Item, count: number) => void,
  intervalMs = INTERVAL_MS,
): ((item: Item, count?: number) => void) => {
  let nextAt = 0;
  let sum = 0;
  return (item, count = 1) => {
    sum += count;
    const now = performance.now();
    if (now < nextAt) return;
    pass(item, sum);
    nextAt = now + intervalMs;
    sum = 0;
  };
};

/** The shortest time between two log lines of one task, in ms. Without a dependency, a task may fail many times a second. */
const LINE_EVERY_MS = 60_000;

/**
 * Writes the lines of work that is retried: each distinct line at most once per minute, or again after `recovered`.
 * @param write writes a line
 */
export const withoutRepeats = (
  write: (line: string) => void,
): { readonly write: (line: string) => void; readonly recovered: () => void } => {
  const writtenAt = new Map<string, number>();
  return {
    write: (line) => {
      const now = performance.now();
      if (now - (writtenAt.get(line) ?? Number.NEGATIVE_INFINITY) < LINE_EVERY_MS) return;
      for (const [other, at] of writtenAt) if (now - at >= LINE_EVERY_MS) writtenAt.delete(other);
      writtenAt.set(line, now);
      write(line);
    },
    recovered: () => writtenAt.clear(),
  };
};

/** Reports failures that no client sees to the operator: one log line per minute, and counters in `/metrics`. */
export interface FailureReport {
  /** Reports that the task failed and will be retried. */
  failed(error: unknown): void;
  /** Reports that rows were dropped because too many were waiting. */
  dropped(rows: number): void;
}

const counterOf = (registry: Registry, name: string, help: string): Counter<'task'> =>
  (registry.getSingleMetric(name) as Counter<'task'> | undefined) ??
  new Counter({ name, help, labelNames: ['task'], registers: [registry] });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
/** Returns the stack of an error, for failures that can only be defects. */
export const stackOf = (error: unknown): string => (error instanceof Error ? error.stack! : String(error));

/**
 * @param task the task, as the label of the metrics and in the log line: `write usage`
 * @param textOf the description of the error in the log line
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
    'Failures of background tasks, which are then retried, by task',
  );
  const drops = counterOf(
    registry,
    'threat_protection_background_dropped_rows_total',
    'Rows that were dropped because too many were waiting to be written, by task',
  );
  failures.inc({ task }, 0);
  drops.inc({ task }, 0);
  const logFailure = throttle(
    (error: unknown, count) => write(`Failed to ${task} (${count} since the last line): ${textOf(error)}`),
    LINE_EVERY_MS,
  );
  const logDrop = throttle(
    (_: unknown, count) =>
      write(`Failed to ${task}: ${count} rows dropped since the last log line, because too many rows were waiting`),
    LINE_EVERY_MS,
  );
  return {
    failed: (error) => {
      failures.inc({ task });
      logFailure(error);
    },
    dropped: (rows) => {
      drops.inc({ task }, rows);
      logDrop(undefined, rows);
    },
  };
};

/**
 * Flushes data collected in memory after a delay, so that no request waits for the flush. One flush runs at a time. A
 * failed flush is retried. The last flush runs at shutdown.
 */
export class DelayedFlush {
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private hasStopped = false;

  /**
   * @param flush writes the data; if writing fails, restores the data and rejects
   * @param onFailure called with the error of a failed flush
   */
  constructor(
    private readonly delayMs: number,
    private readonly flush: () => Promise<void>,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  schedule(): void {
    if (this.hasStopped) return;
    this.timer ??= setTimeout(() => void this.now(), this.delayMs).unref();
  }

  /** Never rejects. */
  now(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.flushing
      .then(() => this.flush())
      .catch((error: unknown) => {
        this.onFailure(error);
        this.schedule();
      });
    return this.flushing;
  }

  /** Flushes for the last time. A failure is not retried, because the database connection is about to be closed. */
  stop(): Promise<void> {
    this.hasStopped = true;
    return this.now();
  }
}
