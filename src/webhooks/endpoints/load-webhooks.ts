import type { Pool } from 'pg';
import type { Loaded } from '../../event-log/command-queue.js';
import type { EventLog } from '../../event-log/event-log.js';
import { readTail } from '../../event-log/stream-tail.js';
import { webhooksStream } from '../../events/streams.js';
import { WEBHOOK_TYPES } from '../../events/types/webhooks.js';
import { KNOWN_WEBHOOKS } from './statements.js';
import { evolve, type Webhooks } from './webhook.js';

export interface LoadedWebhooks extends Webhooks, Loaded {
  /** The position of the log that the read model has reached. */
  readonly position: bigint;
}

/** Each event contains the whole endpoint. With the longest URLs and filters, this many events take about 10 MB. */
const MAX_TAIL = 1_000;
const TIME_LIMIT_MS = 2_500;

/**
 * Loads the current endpoints of an organization, including changes made on other instances: the read model, plus the
 * events in the stream that the read model does not include yet.
 * @param keys hashes of `Idempotency-Key`s whose endpoints are loaded even if they are deleted
 * @throws Unavailable if the read model is too far behind
 */
export const loadWebhooks = async (
  pool: Pool,
  log: EventLog,
  organization: string,
  keys: readonly string[] = [],
): Promise<LoadedWebhooks> => {
  const rows = await KNOWN_WEBHOOKS.run(pool, { organization, keyHashes: keys }, TIME_LIMIT_MS);
  const webhooks: Webhooks = { byId: new Map() };
  for (const { endpoint } of rows) if (endpoint !== null) webhooks.byId.set(endpoint.webhookId, endpoint);
  const tail = {
    stream: webhooksStream(organization),
    types: WEBHOOK_TYPES,
    after: BigInt(rows[0]!.reached ?? -1),
    maxEvents: MAX_TAIL,
    name: 'webhooks',
  };
  const revision = await readTail(log, tail, (event) => evolve(webhooks, event));
  return { ...webhooks, revision, now: rows[0]!.now, position: BigInt(rows[0]!.position) };
};
