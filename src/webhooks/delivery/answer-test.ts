import { FEED_SOURCE, FEED_TYPE_PREFIX } from '../../events/feed-schema.js';
import { formatInstant } from '../../events/instant.js';
import type { RowOf } from '../../postgres/statement.js';
import { COMPLETE_TEST, type LIST_PENDING_TESTS } from '../../read-models/webhooks/statements.js';
import type { DeliveryContext } from './context.js';
import { contentOf, type Endpoint, readEndpoint } from './endpoint.js';
import { post, type Posted } from './post.js';
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

const resultOf = ({ webhookId, answer: { status, error, text }, took }: Posted): string =>
  JSON.stringify({ webhookId, status, error, answer: text, took });

/**
 * Sends the `webhook.test` that the API has been asked for, whatever state the endpoint is in, and stores what came back.
 * It takes no slot of the deliveries: whoever waits for it shall not wait for endpoints that hang.
 * @throws LeaseLost, or the database's error
 */
export const answerTest = async (
  context: DeliveryContext,
  { id, organization, endpoint: name }: Test,
): Promise<void> => {
  const { pool, clock, egress, writer, deliveryLog, giveUp } = context;
  const endpoint = await readEndpoint(pool, organization, name);
  if (endpoint === undefined) return;
  const connection = new Connection(egress);
  const posted = await post(
    context,
    endpoint,
    connection,
    contentOf(endpoint, [testElement(endpoint, id, clock.now())]),
  );
  deliveryLog.add(endpoint, { ...posted, records: 0 });
  connection.end();
  if (giveUp.aborted) return;
  await COMPLETE_TEST.run(pool, { id, result: resultOf(posted) });
  await writer.storeTest(name, { ...posted, records: 0 });
};
