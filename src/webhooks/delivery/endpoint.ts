import type { Pool } from 'pg';
import type { Webhook } from '../../events/types/webhooks.js';
import type { StoredProgress } from '../../read-models/webhooks/statements.js';
import { READ_ENDPOINT } from '../endpoints/statements.js';

/** An endpoint that is not deleted. */
export interface Endpoint extends Webhook {
  /** Of the organization's stream. */
  readonly revision: number;
  /** Null: its deliveries have not begun. */
  readonly progress: StoredProgress | null;
}

/** @returns undefined if there is none, or if it is deleted */
export const readEndpoint = async (pool: Pool, organization: string, id: string): Promise<Endpoint | undefined> => {
  const [row] = await READ_ENDPOINT.run(pool, { organization, id });
  return row && { ...row.endpoint, revision: row.revision, progress: row.progress };
};

const UNTRIED = {
  failingSince: null,
  tries: 0,
  nextAttemptAt: null,
  refused: 0,
} as const;

/**
 * The position after which the deliveries to an endpoint begin.
 * @param logId of the log that is in use. In another log the position says nothing: then everything is sent again
 */
export const beginningOf = ({ startAfter, startLog }: Endpoint, logId: string): number =>
  startLog === logId ? startAfter : -1;

/**
 * How far the deliveries to an endpoint have come.
 * @param stored null: they have not begun
 * @param logId of the log that is in use. Positions in another one say nothing: then everything is sent again
 */
export const progressOf = (endpoint: Endpoint, stored: StoredProgress | null, logId: string): StoredProgress => {
  const { replay } = endpoint;
  if (stored?.replay === replay && stored.logId === logId) return stored;
  const position = stored?.replay === replay ? -1 : beginningOf(endpoint, logId);
  const { lastSuccessAt = null, lastFailure = null } = stored ?? {};
  const beginning = { position, event: null, parked: null, parkedFrom: null };
  return { ...UNTRIED, replay, logId, ...beginning, lastSuccessAt, lastFailure };
};

/** Once it is told again, it begins as if nothing had failed. */
export const asUntried = (progress: StoredProgress): StoredProgress => ({ ...progress, ...UNTRIED });

/** What is posted to an endpoint. */
export interface Content {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Elements of the feed as an endpoint wants them: one as it is, or several, even of one, as a batch. */
export const contentOf = ({ batch }: Endpoint, elements: readonly string[]): Content =>
  batch > 1
    ? { contentType: 'application/cloudevents-batch+json', body: Buffer.from(`[${elements.join(',')}]`) }
    : { contentType: 'application/cloudevents+json', body: Buffer.from(elements[0]!) };
