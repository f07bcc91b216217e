import { setTimeout as sleep } from 'node:timers/promises';
import { requireEqual } from './equal.js';
import type { Goal } from './goal.js';
import { type Follow, measureDelays, PER_SECOND } from './single-events.js';

const followFeed: Follow = async ({ url, key, count }) => {
  /** When each came out of the feed, by its id. */
  const seen = new Map<string, number>();
  const read = async (): Promise<void> => {
    for (let last = ''; seen.size < count;) {
      const answer = await fetch(`${url}/v2/organization/feed?timeout=20000${last}`, { headers: { 'x-api-key': key } });
      if (answer.status === 503) {
        // The lists are not filled yet.
        await sleep(100);
        continue;
      }
      const elements = (await answer.json()) as { id: string; subject: string }[];
      const now = performance.now();
      for (const { subject } of elements) seen.set(subject, now);
      if (elements.length > 0) last = `&lastEventId=${elements.at(-1)!.id}`;
    }
  };
  const reading = read();
  await sleep(500);
  return async (answered) => {
    await reading;
    requireEqual('came out of the feed', [...answered.keys()].sort(), [...seen.keys()].sort());
    return [...answered].map(([id, at]) => Math.max(0, seen.get(id)! - at));
  };
};

/** From the answer to an event to the answer of a request that waited for it at the feed, events coming singly. */
export const ingestToFeed: Goal = {
  name: 'G18a',
  run: async (bench) => [
    {
      what: `acknowledgement to element in the feed, ${PER_SECOND} events a second, p99`,
      against: '-',
      unit: 'ms',
      must: 150,
      aim: 60,
      more: false,
      ...(await measureDelays(bench, 'G18a', followFeed)),
    },
  ],
};
