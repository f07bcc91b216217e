import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import type { Target } from './target.js';

const RETRY_AFTER_MS = 100;

/** Sends events in batches, and retries each batch while the response is 429 or 503. */
export const sendAll = async (
  { url }: Pick<Target, 'url'>,
  key: string | undefined,
  all: readonly object[],
  size = 500,
): Promise<{ readonly accepted: number; readonly rejected: number }> => {
  const total = { accepted: 0, rejected: 0 };
  for (let from = 0; from < all.length;) {
    const events = all.slice(from, from + size);
    const { status, body } = await sendRequest(`${url}/v2/events`, { key, events, timeoutMs: 60_000 });
    if (status === 429 || status === 503) {
      await sleep(RETRY_AFTER_MS);
      continue;
    }
    total.accepted += body.accepted ?? 0;
    total.rejected += body.rejected?.length ?? 0;
    from += size;
  }
  return total;
};
