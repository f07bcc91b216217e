import { setTimeout as sleep } from 'node:timers/promises';
import type { Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { ask } from '../rig/ask.js';
import { checkAll, counted, wholeLog } from '../rig/check.js';
import { collectGarbage } from '../rig/collect-garbage.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import type { Scene } from '../rig/scene.js';
import { MB, slowDown, watch, watchPeak } from '../rig/watched.js';

interface Dose {
  readonly seconds: number;
  /** The heap may be this many times its peak while idle. */
  readonly heap: number;
}

const outrun = async (scene: Scene, { seconds, heap }: Dose): Promise<Outcome> => {
  // Collected before each look, for garbage says nothing of what is kept.
  const opened = await watch(scene, { live: 'yes' });
  const { service, keys, memoryOf } = opened;
  const heapOf = (): number => memoryOf('projections').heapUsed;
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  // Idle is a projector that has worked before: its code is compiled and its caches are filled.
  await sender.deliver(inBatches(fullLoad(scene.random, 3_000), 1_000));
  await counted(service.url);
  const idleOf = watchPeak(heapOf);
  await sleep(Math.min(seconds * 500, 10_000));
  const idle = idleOf();
  const speedUp = slowDown(service.projectors[0]!);
  const lag = async (): Promise<number> => {
    const { body } = await ask(`${service.url}/health/ready`);
    return Math.max(...body.parts.readModels.detail.projections.map((one: { lag: number }) => one.lag));
  };
  const stop = sender.keepDelivering(inBatches(numbered(upstream(scene.random), 'more'), 1_000));
  const peakOf = watchPeak(heapOf);
  for (let second = 1; second <= seconds; second += 1) {
    await sleep(1_000);
    scene.tell(`${second} of ${seconds} s, ${history.acknowledged.length} acknowledged, ${await lag()} behind`);
  }
  await stop();
  const behind = await lag();
  await speedUp();
  const drainedMs = await counted(service.url, 600_000);
  const peak = peakOf();
  const findings = [...history.wrong];
  if (behind === 0) findings.push('The projector was never behind: the dose was none');
  if (peak > heap * idle)
    findings.push(`The heap was ${(peak / MB).toFixed(1)} MB at its peak, ${(idle / MB).toFixed(1)} MB idle`);
  findings.push(...(await checkAll(scene, opened, history.acknowledged)));
  return {
    dose: `${seconds} s, ${history.acknowledged.length} events, a projector stopped nine tenths of the time`,
    seen: `${behind} events behind at the end, drained in ${drainedMs} ms; heap ${(peak / MB).toFixed(1)} MB at its peak, ${(idle / MB).toFixed(1)} MB idle (${(peak / idle).toFixed(2)} ×)`,
    findings,
  };
};

function* numbered(events: Iterable<Sent>, prefix: string): Generator<Sent> {
  for (const event of events) yield { ...event, id: `${prefix}-${event.id}` };
}

/** A follower that takes what comes and works on it later, in this process; what it holds is weighed as a projector's. */
const hoard = async (scene: Scene, { heap }: Dose): Promise<Outcome> => {
  const { service, log, keys, memoryOf } = await watch(scene, { live: 'yes' });
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  await sender.deliver(inBatches(upstream(scene.random, 8_000), 1_000));
  await counted(service.url);
  const peakOf = watchPeak(() => memoryOf('projections').heapUsed);
  await sleep(1_000);
  const idle = peakOf();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const waiting = await wholeLog(log);
  collectGarbage();
  const peak = idle + process.memoryUsage().heapUsed - before;
  return {
    dose: `${history.acknowledged.length} events`,
    seen: `${waiting.length} waiting`,
    findings:
      peak > heap * idle ? [`The heap was ${(peak / MB).toFixed(1)} MB, ${(idle / MB).toFixed(1)} MB idle`] : [],
  };
};

export const fasterProducer: Scenario<Dose> = {
  name: 'F18',
  what: 'a producer ten times faster than the projector',
  full: { seconds: 60, heap: 1.5 },
  run: outrun,
  guard: 'one page is written while the next one is read, and no further one is fetched',
  without: hoard,
};
