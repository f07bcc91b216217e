import type { RowOf } from '../../postgres/statement.js';
import { type READ_ENDPOINT, type StoredProgress } from '../../read-models/webhooks/statements.js';

/** An endpoint that is not deleted. */
export type Endpoint = RowOf<typeof READ_ENDPOINT>;

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
 * @param stored undefined: they have not begun
 * @param logId of the log that is in use. Positions in another one say nothing: then everything is sent again
 */
export const progressOf = (endpoint: Endpoint, stored: StoredProgress | undefined, logId: string): StoredProgress => {
  const { replay } = endpoint;
  if (stored?.replay === replay && stored.logId === logId) return stored;
  const position = stored?.replay === replay ? -1 : beginningOf(endpoint, logId);
  return { ...UNTRIED, replay, logId, position, event: null, parked: null, parkedFrom: null };
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
