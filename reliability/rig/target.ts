import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Process } from './processes.js';

/** The resources of a process after a garbage collection. */
export interface ResourceUse {
  readonly descriptors: number;
  /** Bytes of heap and external memory. */
  readonly memory: number;
  /** Resident memory in bytes. */
  readonly rss: number;
}

/** The target of an attack: the real service or the naive service. */
export interface Target {
  readonly api: Process;
  readonly url: string;
  /** A key with the scope ingest for the events of all organizations. */
  readonly upstreamKey: string;
  /** Keys with the scopes read and write, by organization. */
  readonly keys: Readonly<Record<string, string>>;
  /** Keys with the scope ingest, by organization. */
  readonly ingestKeys: Readonly<Record<string, string>>;
  /** The output of all processes. */
  output(): string;
  measureResources(): Promise<ResourceUse>;
}

const TIMEOUT_MS = 10_000;

/**
 * Asks a process to collect garbage and to report its resources.
 * @param reportFolder the folder of the reports (`preload/report-resources.ts`)
 * @throws Error if the process has ended or does not report in time
 */
export const measureResources = async (
  { pid, isRunning, program }: Process,
  reportFolder: string,
): Promise<ResourceUse> => {
  if (!isRunning) throw new Error(`${program} has ended`);
  const read = (): { times: number } & ResourceUse => {
    try {
      return JSON.parse(readFileSync(join(reportFolder, `${pid}.json`), 'utf8'));
    } catch {
      return { times: 0, descriptors: 0, memory: 0, rss: 0 };
    }
  };
  const before = read().times;
  process.kill(pid, 'SIGUSR2');
  for (const until = Date.now() + TIMEOUT_MS; Date.now() < until; await sleep(10)) {
    const { times, ...resources } = read();
    if (times > before) return resources;
  }
  throw new Error(`${program} did not report its resources within ${TIMEOUT_MS} ms`);
};
