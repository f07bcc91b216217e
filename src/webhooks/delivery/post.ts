import { signingKeys } from '../secret.js';
import type { Answer } from './requests/answer.js';
import type { DeliveryContext } from './context.js';
import type { Content, Endpoint } from './endpoint.js';
import type { Connection } from './requests/send.js';
import { signedHeaders, webhookIdOf } from './requests/sign.js';
import { tracing } from '../../tracing/tracing.js';
import { deliverySpan, endDelivery } from './delivery-span.js';

const AGENT = 'threat-protection/2.0';

/** A request as it went. */
export interface Posted {
  /** ms */
  readonly at: number;
  readonly webhookId: string;
  readonly answer: Answer;
  /** ms */
  readonly took: number;
}

/** Signs a content and sends it to an endpoint. */
export const post = async (
  { keys, clock, giveUp, warn }: DeliveryContext,
  endpoint: Endpoint,
  connection: Connection,
  { contentType, body }: Content,
): Promise<Posted> => {
  const at = clock.now();
  const webhookId = webhookIdOf(endpoint.webhookId, body);
  let secrets: Buffer[];
  try {
    if (keys === undefined) throw new Error('WEBHOOK_MASTER_KEY_FILE is not set');
    secrets = signingKeys(keys, endpoint, at);
  } catch (error) {
    warn(`Nothing can be signed for the webhook ${endpoint.webhookId}: ${(error as Error).message}`);
    return { at, webhookId, took: 0, answer: { error: 'it could not be signed; the operator has been told' } };
  }
  const headers = {
    'content-type': contentType,
    'user-agent': AGENT,
    ...signedHeaders(secrets, webhookId, at, body),
  };
  const begin = performance.now();
  const url = new URL(endpoint.url);
  const span = tracing?.begin(deliverySpan(endpoint.webhookId, webhookId, url));
  const traced = span === undefined ? headers : { ...headers, traceparent: span.traceparent };
  const answer = await connection.send({ url, headers: traced, body }, giveUp);
  if (span !== undefined) endDelivery(span, answer);
  return { at, webhookId, answer, took: Math.round(performance.now() - begin) };
};
