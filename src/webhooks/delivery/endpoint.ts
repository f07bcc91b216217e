import type { Pool } from 'pg';
import type { Webhook } from '../../events/types/webhooks.js';
import type { StoredProgress } from '../progress-sql.js';
import { READ_ENDPOINT } from '../endpoints/statements.js';

/** An endpoint that is not deleted. */
export interface Endpoint extends Webhook {
  /** The revision of the organization's webhook stream that wrote this row. */
  readonly revision: number;
  /** Null if deliveries have not started. */
  readonly progress: StoredProgress | null;
}

/** @returns undefined if the endpoint does not exist or is deleted */
export const readEndpoint = async (pool: Pool, organization: string, id: string): Promise<Endpoint | undefined> => {
  const [row] = await READ_ENDPOINT.run(pool, { organization, id });
  return row && { ...row.endpoint, revision: row.revision, progress: row.progress };
};

const NO_FAILURES = {
  failingSince: null,
  tries: 0,
  nextAttemptAt: null,
  refused: 0,
} as const;

/**
 * The position after which the deliveries to an endpoint start. If the endpoint was created with another log, positions
 * are not comparable, and everything is sent again.
 * @param logId the id of the current log
 */
export const startPositionOf = ({ startAfter, startLog }: Endpoint, logId: string): number =>
  startLog === logId ? startAfter : -1;

/**
 * The progress of the deliveries to an endpoint. If the progress is from another log, positions are not comparable, and
 * everything is sent again.
 * @param stored null if deliveries have not started
 * @param logId the id of the current log
 */
export const progressOf = (endpoint: Endpoint, stored: StoredProgress | null, logId: string): StoredProgress => {
  const { replay } = endpoint;
  if (stored?.replay === replay && stored.logId === logId) return stored;
  const position = stored?.replay === replay ? -1 : startPositionOf(endpoint, logId);
  const { lastSuccessAt = null, lastFailure = null } = stored ?? {};
  const start = { position, event: null, parked: null, parkedFrom: null };
  return { ...NO_FAILURES, replay, logId, ...start, lastSuccessAt, lastFailure };
};

/** Resets the failures, because an endpoint that is enabled again starts without failures. */
export const withoutFailures = (progress: StoredProgress): StoredProgress => ({ ...progress, ...NO_FAILURES });

/** The body of a delivery. */
export interface Content {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Encodes feed elements: as a batch if the endpoint accepts batches, otherwise as a single event. */
export const contentOf = ({ batch }: Endpoint, elements: readonly string[]): Content =>
  batch > 1
    ? { contentType: 'application/cloudevents-batch+json', body: Buffer.from(`[${elements.join(',')}]`) }
    : { contentType: 'application/cloudevents+json', body: Buffer.from(elements[0]!) };
