import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Process } from './processes.js';

/** What a process holds once what nobody holds any more has been collected. */
export interface Weight {
  readonly descriptors: number;
  /** Bytes, on and off the heap. */
  readonly memory: number;
  /** Bytes. */
  readonly rss: number;
}

/** Something that answers like the service: the service itself, or one that was written in an afternoon. */
export interface Target {
  readonly api: Process;
  readonly url: string;
  /** Of upstream. */
  readonly ingest: string;
  /** To read and write, by organization. */
  readonly keys: Readonly<Record<string, string>>;
  /** To send events of one organization, by organization. */
  readonly senders: Readonly<Record<string, string>>;
  /** Everything that its processes have written. */
  output(): string;
  weigh(): Promise<Weight>;
}

const TIMEOUT_MS = 10_000;

/** @param weights the folder that the process writes into; see `preload/weigh.ts` */
export const weigh = async ({ pid, isRunning, program }: Process, weights: string): Promise<Weight> => {
  if (!isRunning) throw new Error(`${program} has ended`);
  const read = (): { times: number } & Weight => {
    try {
      return JSON.parse(readFileSync(join(weights, `${pid}.json`), 'utf8'));
    } catch {
      return { times: 0, descriptors: 0, memory: 0, rss: 0 };
    }
  };
  const before = read().times;
  process.kill(pid, 'SIGUSR2');
  for (const until = Date.now() + TIMEOUT_MS; Date.now() < until; await sleep(10)) {
    const { times, ...weight } = read();
    if (times > before) return weight;
  }
  throw new Error(`${program} did not say within ${TIMEOUT_MS} ms what it weighs`);
};
