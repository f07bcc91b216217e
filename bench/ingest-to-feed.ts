import { setTimeout as sleep } from 'node:timers/promises';
import { requireEqual } from './equal.js';
import { delayGoal, type StartFollowing } from './single-events.js';

const followFeed: StartFollowing = async ({ url, key, count }) => {
  /** When the feed returned each event, by event id. */
  const seen = new Map<string, number>();
  const read = async (): Promise<void> => {
    for (let last = ''; seen.size < count;) {
      const response = await fetch(`${url}/v2/organization/feed?timeout=20000${last}`, {
        headers: { 'x-api-key': key },
        redirect: 'error',
      });
      if (response.status === 503) {
        // The initial backfill is not complete yet.
        await sleep(100);
        continue;
      }
      const elements = (await response.json()) as { id: string; subject: string }[];
      const now = performance.now();
      for (const { subject } of elements) seen.set(subject, now);
      if (elements.length > 0) last = `&lastEventId=${elements.at(-1)!.id}`;
    }
  };
  const reading = read();
  await sleep(500);
  return async (acknowledged) => {
    await reading;
    requireEqual('events returned by the feed', [...acknowledged.keys()].sort(), [...seen.keys()].sort());
    return [...acknowledged].map(([id, at]) => Math.max(0, seen.get(id)! - at));
  };
};

/** Measures the time from the acknowledgement of a single event to the response of a long poll of the feed. */
export const ingestToFeed = delayGoal('G18a', 'element in the feed', 150, 60, followFeed);
