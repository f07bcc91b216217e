import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import type { RowOf } from '../../postgres/statement.js';
import { COMPLETE_TEST, type LIST_PENDING_TESTS } from '../requested-tests-sql.js';
import type { DeliveryContext } from './context.js';
import { contentOf, type Endpoint, readEndpoint } from './endpoint.js';
import { post, type SentRequest } from './post.js';
import { Connection } from './requests/send.js';

type Test = RowOf<typeof LIST_PENDING_TESTS>;

const testElement = ({ webhookId }: Endpoint, testId: string, now: number): string =>
  JSON.stringify({
    specversion: '1.0',
    id: testId,
    source: FEED_SOURCE,
    type: `${FEED_TYPE_PREFIX}webhook.test`,
    subject: webhookId,
    time: formatInstant(now),
    datacontenttype: 'application/json',
    data: { webhookId },
  });

/** The result as JSON, in the form that `TestResult` describes. */
const resultOf = ({ deliveryId, response: { status, error, text }, durationMs }: SentRequest): string =>
  JSON.stringify({ webhookId: deliveryId, status, error, answer: text, took: durationMs });

/**
 * Sends a requested `webhook.test` event to an endpoint in any state, and stores the response. A test does not take a
 * delivery slot, so that a client that waits for its result does not wait for unresponsive endpoints.
 * @throws LeaseLost, or the error of the database
 */
export const runTest = async (context: DeliveryContext, { id, organization, endpoint: name }: Test): Promise<void> => {
  const { pool, clock, egress, writer, deliveryLog, giveUp } = context;
  const endpoint = await readEndpoint(pool, organization, name);
  if (endpoint === undefined) return;
  const connection = new Connection(egress);
  const sent = await post(context, endpoint, connection, contentOf(endpoint, [testElement(endpoint, id, clock.now())]));
  connection.end();
  if (sent.isUnsigned) {
    await COMPLETE_TEST.run(pool, { id, result: resultOf(sent) });
    return;
  }
  deliveryLog.add(endpoint, { ...sent, records: 0 });
  if (giveUp.aborted) return;
  await COMPLETE_TEST.run(pool, { id, result: resultOf(sent) });
  await writer.storeTest(name, { ...sent, records: 0 });
};
