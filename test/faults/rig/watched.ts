import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { createDatabase } from '../../support/postgres.js';
import type { Keys } from './check.js';
import { issueKeys, keysKnown, openLog } from './keys.js';
import { preloadOf, type Process } from './processes.js';
import type { Scene } from './scene.js';
import { Service } from './service.js';

export const MB = 1024 * 1024;

export interface Watched {
  readonly service: Service;
  readonly log: EventLog;
  readonly keys: Keys;
  readonly env: Readonly<Record<string, string>>;
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
  }: { organizations?: readonly string[]; preload?: string; live?: string } = {},
): Promise<Watched> => {
  const database = await createDatabase();
  scene.later(() => database.drop());
  const reports = await scene.folder();
  const env = { DATABASE_URL: database.url, MEMORY_REPORTS: reports, MEMORY_LIVE: live };
  const log = await openLog(scene, database.url);
  const keys = await issueKeys(log, organizations);
  const { service } = await Service.start(scene, { env, preload: preloadOf(preload) });
  await keysKnown(service.url, keys);
  let last: Partial<Record<string, NodeJS.MemoryUsage>> = {};
  const memoryOf = (program: string): NodeJS.MemoryUsage => {
    try {
      last = { ...last, [program]: JSON.parse(readFileSync(join(reports, `${program}.json`), 'utf8')) };
    } catch {
      // It is being written.
    }
    return last[program] ?? { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 };
  };
  return { service, log, keys, env, memoryOf };
};

/** The most that something was while something else went on. */
export const peakDuring = async (read: () => number, work: Promise<unknown>): Promise<number> => {
  let peak = 0;
  let isOver = false;
  void work.finally(() => (isOver = true));
  while (!isOver) {
    peak = Math.max(peak, read());
    await sleep(50);
  }
  return peak;
};

/** The projector is stopped nine tenths of the time. */
export const slowDown = async (projector: Process, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    projector.signal('SIGSTOP');
    await sleep(90);
    projector.signal('SIGCONT');
    await sleep(10);
  }
};
