import { execFileSync } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually.js';
import type { Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { sendRequest } from '../rig/http-request.js';
import { checkAll, checkLog, wholeLog } from '../rig/check.js';
import { startFakeEndpoint } from '../rig/fake-endpoint.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import { startEmbeddedService } from '../rig/running-service.js';
import { probe } from '../rig/outage.js';
import type { RunContext } from '../rig/run-context.js';

interface Scale {
  readonly rounds: number;
  readonly fullMs: number;
}

/** Events are refused with 503 if they cannot be stored, and with 429 while too many stored events cannot be counted. */
const isRefusal = (status: number | undefined): boolean => status === 503 || status === 429;

const VOLUME_MB = 220;

const mount = (folder: string): void =>
  void execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${VOLUME_MB}m,mode=711`, 'tmpfs', folder], { stdio: 'pipe' });
const unmount = (folder: string): void => void execFileSync('umount', ['-l', folder], { stdio: 'pipe' });

/** Fills the volume. */
const fill = async (folder: string): Promise<void> => {
  const file = await open(join(folder, 'filling'), 'a');
  const block = Buffer.alloc(64 * 1024, 1);
  try {
    for (;;) await file.write(block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
};

/**
 * Sends slowly: the naive endpoint accepts events so fast that they would fill the volume, and the database could not
 * restart.
 */
const trickle = (sender: Sender, queue: Iterable<readonly Sent[]>): (() => Promise<void>) => {
  let isOver = false;
  const delivering = (async () => {
    for (const batch of queue) {
      if (isOver) return;
      await sender.deliver([batch].values());
      await sleep(10);
    }
  })();
  return () => {
    isOver = true;
    return delivering;
  };
};

const fillDisk = async (context: RunContext, { rounds, fullMs }: Scale, isFakeEndpoint = false): Promise<Outcome> => {
  const folder = await context.folder();
  mount(folder);
  context.onEnd(async () => unmount(folder));
  const opened = await startEmbeddedService(context, join(folder, 'data'));
  const { service, log, keys } = opened;
  const endpoint = isFakeEndpoint ? await startFakeEndpoint(context, () => service.url) : undefined;
  const history = new History(context);
  const sender = new Sender(() => endpoint ?? service.url, keys.ingest, history, 2);
  const stop = isFakeEndpoint
    ? trickle(sender, inBatches(upstream(context.random), 20))
    : sender.keepDelivering(inBatches(fullLoad(context.random, 20_000 * rounds), 500));
  const findings: string[] = [];
  const recoveries: number[] = [];
  let probes = 0;
  for (let round = 1; round <= rounds; round += 1) {
    await sleep(500);
    context.reportProgress(`round ${round} of ${rounds}: disk full`);
    await fill(folder);
    const fullAt = Date.now();
    await sleep(fullMs);
    // The database has some preallocated space.
    const refused = async (): Promise<boolean> =>
      isFakeEndpoint
        ? (await sendRequest(`${service.url}/v2/events`, { key: keys.ingest, events: [probe((probes += 1))] }))
            .status === 503
        : history.attempts.some(({ at, status }) => at >= fullAt && isRefusal(status));
    while (!(await refused()) && Date.now() - fullAt < 30_000) await sleep(20);
    const attemptsWhileFull = history.attempts.filter(({ at }) => at >= fullAt);
    const unexpected = attemptsWhileFull.filter(({ status }) => status !== 200 && !isRefusal(status));
    if (unexpected.length > 0)
      findings.push(`${unexpected.length} requests got none of 200, 429 and 503: ${JSON.stringify(unexpected[0])}`);
    if (!isFakeEndpoint && !attemptsWhileFull.some(({ status }) => isRefusal(status)))
      findings.push('No request was refused');
    await rm(join(folder, 'filling'));
    const roomAt = Date.now();
    if (!isFakeEndpoint)
      await eventually(
        'the service continues once there is space',
        () => history.attempts.some(({ at, status }) => at > roomAt && status === 200),
        60_000,
      );
    // The database must have recovered before the log is checked.
    if (isFakeEndpoint) await service.ready(60_000);
    recoveries.push(Date.now() - roomAt);
  }
  await stop();
  findings.push(...history.wrong);
  if (isFakeEndpoint) findings.push(...checkLog(await wholeLog(log), history.acknowledged));
  else {
    findings.push(...(await checkAll(context, opened, history.acknowledged)));
    await service.stop();
  }
  const refused = history.attempts.filter(({ status }) => status === 503).length;
  return {
    workload: `${rounds} × disk full for ${fullMs / 1000} s on a volume of ${VOLUME_MB} MB`,
    observed: `${refused} × 503, none of ${history.acknowledged.length} lost, continues ${Math.max(...recoveries)} ms after there is space`,
    findings,
  };
};

export const fullDisk: Scenario<Scale> = {
  name: 'F15',
  what: 'the disk is full',
  full: { rounds: 3, fullMs: 8_000 },
  skipReason: async () => {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root can mount a small volume';
    try {
      mount('/mnt');
      unmount('/mnt');
      return undefined;
    } catch (error) {
      return `cannot mount a small volume: ${(error as Error).message.split('\n')[0]}`;
    }
  },
  run: (context, scale) => fillDisk(context, scale),
  guard: 'the endpoint responds after the append',
  controlScale: { rounds: 1, fullMs: 1_000 },
  withoutGuard: (context, scale) => fillDisk(context, scale, true),
};
