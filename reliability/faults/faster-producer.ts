import { setTimeout as sleep } from 'node:timers/promises';
import type { Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { sendRequest } from '../rig/http-request.js';
import { checkAll, waitUntilCounted, wholeLog } from '../rig/check.js';
import { collectGarbage } from '../rig/collect-garbage.js';
import { appendDirectly, fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import type { RunContext } from '../rig/run-context.js';
import { MB, slowDown, startWithMemoryReports, watchPeak } from '../rig/memory-reports.js';

interface Scale {
  readonly seconds: number;
  /** How much larger the heap may be than at its peak while idle, in MB: a few pages of the log, decoded and as rows. */
  readonly growthMb: number;
}

/** Events that need far more than the permitted growth if they are all read ahead. */
const MIN_BACKLOG = 200_000;

const outrun = async (context: RunContext, { seconds, growthMb }: Scale): Promise<Outcome> => {
  // Garbage is collected before each measurement.
  const opened = await startWithMemoryReports(context, { live: 'yes' });
  const { service, log, keys, memoryOf } = opened;
  const heapOf = (): number => memoryOf('projections').heapUsed;
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  // The idle heap is measured after some work, when code is compiled and caches are filled.
  await sender.deliver(inBatches(fullLoad(context.random, 3_000), 1_000));
  await waitUntilCounted(service.url);
  const idleOf = watchPeak(heapOf);
  await sleep(Math.min(seconds * 500, 10_000));
  const idle = idleOf();
  const speedUp = slowDown(service.projectors[0]!);
  const lag = async (): Promise<number> => {
    const { body } = await sendRequest(`${service.url}/health/ready`);
    return Math.max(...body.parts.readModels.detail.projections.map((one: { lag: number }) => one.lag));
  };
  const stop = new AbortController();
  const more = inBatches(numbered(upstream(context.random), 'more'), 1_000);
  const appending = appendDirectly(log, more, history, stop.signal);
  const peakOf = watchPeak(heapOf);
  for (let second = 1; second <= seconds; second += 1) {
    await sleep(1_000);
    context.reportProgress(
      `${second} of ${seconds} s, ${history.acknowledged.length} acknowledged, ${await lag()} behind`,
    );
  }
  stop.abort();
  await appending;
  const behind = await lag();
  await speedUp();
  const drainedMs = await waitUntilCounted(service.url, 600_000);
  const peak = peakOf();
  const findings = [...history.wrong];
  if (behind < MIN_BACKLOG) findings.push(`The backlog was only ${behind} events, so the run tested nothing`);
  if (peak > idle + growthMb * MB)
    findings.push(`The heap was ${(peak / MB).toFixed(1)} MB at its peak, but ${(idle / MB).toFixed(1)} MB while idle`);
  findings.push(...(await checkAll(context, opened, history.acknowledged)));
  return {
    workload: `${seconds} s, ${history.acknowledged.length} events, a projector that is stopped for nine tenths of the time`,
    observed: `${behind} events behind at the end, drained in ${drainedMs} ms; heap ${(peak / MB).toFixed(1)} MB at its peak, ${(idle / MB).toFixed(1)} MB idle`,
    findings,
  };
};

function* numbered(events: Iterable<Sent>, prefix: string): Generator<Sent> {
  for (const event of events) yield { ...event, id: `${prefix}-${event.id}` };
}

/** A naive follower that reads everything before it processes anything; its heap counts as the projector's. */
const hoard = async (context: RunContext, { growthMb }: Scale): Promise<Outcome> => {
  const { service, log, keys, memoryOf } = await startWithMemoryReports(context, { live: 'yes' });
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  await sender.deliver(inBatches(fullLoad(context.random, 3_000), 1_000));
  await waitUntilCounted(service.url);
  const peakOf = watchPeak(() => memoryOf('projections').heapUsed);
  await sleep(1_000);
  const idle = peakOf();
  const more = inBatches(numbered(upstream(context.random, MIN_BACKLOG), 'more'), 1_000);
  await appendDirectly(log, more, history, new AbortController().signal);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const waiting = await wholeLog(log);
  collectGarbage();
  const peak = idle + process.memoryUsage().heapUsed - before;
  return {
    workload: `${history.acknowledged.length} events`,
    observed: `${waiting.length} waiting`,
    findings:
      peak > idle + growthMb * MB
        ? [`The heap was ${(peak / MB).toFixed(1)} MB, ${(idle / MB).toFixed(1)} MB idle`]
        : [],
  };
};

export const fasterProducer: Scenario<Scale> = {
  name: 'F18',
  what: 'a producer ten times faster than the projector',
  full: { seconds: 30, growthMb: 64 },
  run: outrun,
  guard: 'at most one page is read ahead while the previous one is written',
  withoutGuard: hoard,
};
