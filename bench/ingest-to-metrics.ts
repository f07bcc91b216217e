import { setTimeout as sleep } from 'node:timers/promises';
import { requireEqual } from './equal.js';
import { delayGoal, type StartFollowing } from './single-events.js';

/** Follows the counted threats of an organization through its metrics. */
export const followMetrics: StartFollowing = async ({ url, key, count }) => {
  /** When the metrics first counted n events. */
  const counted: number[] = [];
  const ask = async (): Promise<number> => {
    const response = await fetch(`${url}/v2/organization/metrics`, {
      headers: { 'x-api-key': key },
      redirect: 'error',
    });
    return ((await response.json()) as { metrics: { newThreats: number } }).metrics.newThreats;
  };
  const watch = async (): Promise<void> => {
    while (counted.length < count) {
      const n = await ask();
      const now = performance.now();
      while (counted.length < n) counted.push(now);
      await sleep(2);
    }
  };
  const watching = watch();
  return async (acknowledged) => {
    await watching;
    requireEqual('counted threats', count, await ask());
    return [...acknowledged.values()].map((at, n) => Math.max(0, counted[n]! - at));
  };
};

/** Measures the time from the acknowledgement of a single event to a response of the metrics that counts it. */
export const ingestToMetrics = delayGoal('G8', 'counted in metrics', 100, 30, followMetrics);
