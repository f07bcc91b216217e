import { setTimeout as sleep } from 'node:timers/promises';
import { requireEqual } from './equal.js';
import type { Goal } from './goal.js';
import { type Follow, measureDelays, PER_SECOND } from './single-events.js';

/** One acknowledgement of so many is followed by a read: 50 reads a second. */
const READ_EVERY = 10;

const readWithTokens: Follow = async (reader) => {
  const { url, key, count } = reader;
  const organization = `${url}/v2/organization`;
  const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(organization + path, { headers: { 'x-api-key': key, ...headers } });
  // The lists answer once they have been filled for the first time.
  while ((await ask('/threats')).status !== 200) await sleep(100);
  const reading: Promise<number>[] = [];
  const read = async (path: string, token: string): Promise<number> => {
    const since = performance.now();
    const response = await ask(path, { 'consistency-token': token });
    await response.arrayBuffer();
    const ms = performance.now() - since;
    requireEqual(`status of ${path}`, 200, response.status);
    return ms;
  };
  let acknowledged = 0;
  reader.onAnswered = (id, token) => {
    acknowledged += 1;
    if (acknowledged % READ_EVERY !== 0) return;
    // The record of the event, which is 404 if the answer does not include it, and the metrics in turn.
    const answered = read(acknowledged % (2 * READ_EVERY) === 0 ? `/threats/${id}` : '/metrics', token);
    // Thrown at the end, when all are awaited.
    answered.catch(() => {});
    reading.push(answered);
  };
  return async () => {
    const delays = await Promise.all(reading);
    requireEqual('reads', Math.floor(count / READ_EVERY), delays.length);
    return delays;
  };
};

/** From the acknowledgement of an event to the answer of a read with its token, events coming singly. */
export const ingestToToken: Goal = {
  name: 'G21',
  run: async (bench) => [
    {
      what: `acknowledgement to response of a read with its token, ${PER_SECOND} events a second, p99`,
      against: '-',
      unit: 'ms',
      must: 100,
      aim: 40,
      more: false,
      ...(await measureDelays(bench, 'G21', readWithTokens)),
    },
  ],
};
