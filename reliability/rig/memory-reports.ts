import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningService, startService } from './running-service.js';
import { preloadOf, type Process } from './processes.js';
import type { RunContext } from './run-context.js';

export const MB = 1024 * 1024;

export interface ServiceWithMemory extends RunningService {
  /** Returns the last memory report of a program. */
  readonly memoryOf: (program: 'src' | 'projections') => NodeJS.MemoryUsage;
}

/** Starts the service on a new database. Each process reports its memory usage (`preload/report-memory.ts`). */
export const startWithMemoryReports = async (
  context: RunContext,
  {
    organizations,
    preload = 'report-memory',
    live = '',
  }: { organizations?: readonly string[] | undefined; preload?: string; live?: string } = {},
): Promise<ServiceWithMemory> => {
  const [database, reports] = [await context.database(), await context.folder()];
  const env = { DATABASE_URL: database.url, MEMORY_REPORTS: reports, MEMORY_LIVE: live };
  const opened = await startService(context, env, { organizations, preload: preloadOf(preload) });
  let last: Partial<Record<string, NodeJS.MemoryUsage>> = {};
  const memoryOf = (program: string): NodeJS.MemoryUsage => {
    try {
      last = { ...last, [program]: JSON.parse(readFileSync(join(reports, `${program}.json`), 'utf8')) };
    } catch {
      // The report is being written.
    }
    return last[program] ?? { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
  };
  return { ...opened, memoryOf };
};

/** Samples a value until the returned function is called, which returns the maximum. */
export const watchPeak = (read: () => number): (() => number) => {
  let peak = 0;
  const look = (): void => void (peak = Math.max(peak, read()));
  const timer = setInterval(look, 50).unref();
  return () => {
    clearInterval(timer);
    look();
    return peak;
  };
};

/** Slows down the projector: it is stopped for 90 ms of every 100 ms. @returns a function that ends the slow-down */
export const slowDown = (projector: Process): (() => Promise<void>) => {
  let isOver = false;
  const slowing = (async () => {
    while (!isOver && projector.isRunning) {
      projector.signal('SIGSTOP');
      await sleep(90);
      projector.signal('SIGCONT');
      await sleep(10);
    }
  })();
  return () => {
    isOver = true;
    return slowing;
  };
};
