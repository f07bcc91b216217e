import { setTimeout as sleep } from 'node:timers/promises';
import { requireEqual } from './equal.js';
import { delayGoal, type StartFollowing } from './single-events.js';

/** Every tenth acknowledgement is followed by a read, which results in 50 reads per second. */
const READ_EVERY = 10;

const readWithTokens: StartFollowing = async (reader) => {
  const { url, key, count } = reader;
  const organization = `${url}/v2/organization`;
  const ask = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(organization + path, { headers: { 'x-api-key': key, ...headers }, redirect: 'error' });
  // Lists are rejected until the initial backfill is complete.
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
  reader.onAcknowledged = (id, token) => {
    acknowledged += 1;
    if (acknowledged % READ_EVERY !== 0) return;
    // Alternates between the metrics and the record of the event. The record is a 404 if the read misses the event.
    const pending = read(acknowledged % (2 * READ_EVERY) === 0 ? `/threats/${id}` : '/metrics', token);
    // The error is thrown at the end, when all reads are awaited.
    pending.catch(() => {});
    reading.push(pending);
  };
  return async () => {
    const delays = await Promise.all(reading);
    requireEqual('reads', Math.floor(count / READ_EVERY), delays.length);
    return delays;
  };
};

/** Measures the response time of reads that send the `Consistency-Token` of an event acknowledged just before. */
export const ingestToToken = delayGoal('G21', 'response of a read with its token', 100, 40, readWithTokens);
