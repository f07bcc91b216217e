import { execFileSync } from 'node:child_process';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../test/support/eventually.js';
import type { Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { ask } from '../rig/ask.js';
import { checkAll, checkLog, wholeLog } from '../rig/check.js';
import { startFakeEndpoint } from '../rig/fake-endpoint.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import { openEmbedded } from '../rig/opened.js';
import { probe } from '../rig/outage.js';
import type { Scene } from '../rig/scene.js';

interface Dose {
  readonly rounds: number;
  readonly fullMs: number;
}

const VOLUME_MB = 220;

const mount = (folder: string): void =>
  void execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${VOLUME_MB}m,mode=711`, 'tmpfs', folder], { stdio: 'pipe' });
const unmount = (folder: string): void => void execFileSync('umount', ['-l', folder], { stdio: 'pipe' });

/** Takes all the room that is left. */
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
 * The endpoint that only claims to have stored them accepts them as fast as they come: so fast that they would fill
 * the volume themselves, and the database could not even start again.
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

const fillDisk = async (scene: Scene, { rounds, fullMs }: Dose, isFakeEndpoint = false): Promise<Outcome> => {
  const folder = await scene.folder();
  mount(folder);
  scene.later(async () => unmount(folder));
  const opened = await openEmbedded(scene, join(folder, 'data'));
  const { service, log, keys } = opened;
  const endpoint = isFakeEndpoint ? await startFakeEndpoint(scene, () => service.url) : undefined;
  const history = new History(scene);
  const sender = new Sender(() => endpoint ?? service.url, keys.ingest, history, 2);
  const stop = isFakeEndpoint
    ? trickle(sender, inBatches(upstream(scene.random), 20))
    : sender.keepDelivering(inBatches(fullLoad(scene.random, 20_000 * rounds), 500));
  const findings: string[] = [];
  const recoveries: number[] = [];
  let probes = 0;
  for (let round = 1; round <= rounds; round += 1) {
    await sleep(500);
    scene.tell(`round ${round} of ${rounds}: no room`);
    await fill(folder);
    const fullAt = Date.now();
    await sleep(fullMs);
    // The database has some room of its own before it asks for more.
    const refused = async (): Promise<boolean> =>
      isFakeEndpoint
        ? (await ask(`${service.url}/v2/events`, { key: keys.ingest, events: [probe((probes += 1))] })).status === 503
        : history.attempts.some(({ at, status }) => at >= fullAt && status === 503);
    while (!(await refused()) && Date.now() - fullAt < 30_000) await sleep(20);
    const during = history.attempts.filter(({ at }) => at >= fullAt);
    const odd = during.filter(({ status }) => status !== 200 && status !== 503);
    if (odd.length > 0)
      findings.push(`${odd.length} requests ended otherwise than with 200 or 503: ${JSON.stringify(odd[0])}`);
    if (!isFakeEndpoint && !during.some(({ status }) => status === 503)) findings.push('Nothing was answered with 503');
    await rm(join(folder, 'filling'));
    const roomAt = Date.now();
    if (!isFakeEndpoint)
      await eventually(
        'it continues once there is room',
        () => history.attempts.some(({ at, status }) => at > roomAt && status === 200),
        60_000,
      );
    // What is said to be stored is looked for in a database that has come back, and not in one that still starts.
    if (isFakeEndpoint) await service.ready(60_000);
    recoveries.push(Date.now() - roomAt);
  }
  await stop();
  findings.push(...history.wrong);
  if (isFakeEndpoint) findings.push(...checkLog(await wholeLog(log), history.acknowledged));
  else {
    findings.push(...(await checkAll(scene, opened, history.acknowledged)));
    await service.stop();
  }
  const refused = history.attempts.filter(({ status }) => status === 503).length;
  return {
    dose: `${rounds} × no room for ${fullMs / 1000} s on a volume of ${VOLUME_MB} MB`,
    seen: `${refused} × 503, nothing of ${history.acknowledged.length} lost, continues ${Math.max(...recoveries)} ms after there is room`,
    findings,
  };
};

export const fullDisk: Scenario<Dose> = {
  name: 'F15',
  what: 'the disk is full',
  full: { rounds: 3, fullMs: 8_000 },
  unfit: async () => {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root can make a small volume';
    try {
      mount('/mnt');
      unmount('/mnt');
      return undefined;
    } catch (error) {
      return `no small volume can be made here: ${(error as Error).message.split('\n')[0]}`;
    }
  },
  run: (scene, dose) => fillDisk(scene, dose),
  guard: 'the endpoint answers after the append',
  counterTest: { rounds: 1, fullMs: 1_000 },
  without: (scene, dose) => fillDisk(scene, dose, true),
};
