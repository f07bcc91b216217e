import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Opened, open } from './opened.js';
import { preloadOf, type Process } from './processes.js';
import type { Scene } from './scene.js';

export const MB = 1024 * 1024;

export interface Watched extends Opened {
  /** What a program's process last said of its memory. */
  readonly memoryOf: (program: 'src' | 'projections') => NodeJS.MemoryUsage;
}

/** The built service on a database of its own, its memory watched. */
export const watch = async (
  scene: Scene,
  {
    organizations,
    preload = 'report-memory',
    live = '',
  }: { organizations?: readonly string[] | undefined; preload?: string; live?: string } = {},
): Promise<Watched> => {
  const [database, reports] = [await scene.database(), await scene.folder()];
  const env = { DATABASE_URL: database.url, MEMORY_REPORTS: reports, MEMORY_LIVE: live };
  const opened = await open(scene, env, { organizations, preload: preloadOf(preload) });
  let last: Partial<Record<string, NodeJS.MemoryUsage>> = {};
  const memoryOf = (program: string): NodeJS.MemoryUsage => {
    try {
      last = { ...last, [program]: JSON.parse(readFileSync(join(reports, `${program}.json`), 'utf8')) };
    } catch {
      // It is being written.
    }
    return last[program] ?? { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
  };
  return { ...opened, memoryOf };
};

/** Looks at something until it is asked. @returns the most that it was */
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

/** Stops the projector nine tenths of the time. @returns what ends that */
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
