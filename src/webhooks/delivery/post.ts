import { signingKeys } from '../secret.js';
import type { EndpointResponse } from './requests/response.js';
import type { SendingContext } from './context.js';
import type { Content, Endpoint } from './endpoint.js';
import type { Connection } from './requests/send.js';
import { signedHeaders, deliveryIdOf } from './requests/sign.js';
import { tracing } from '../../runtime/tracing/tracing.js';
import { USER_AGENT } from '../../runtime/version.js';
import { deliverySpan, endDeliverySpan } from './delivery-span.js';

/** A request that was sent, and its response. */
export interface SentRequest {
  /** When the request was sent, in ms. */
  readonly at: number;
  readonly deliveryId: string;
  readonly response: EndpointResponse;
  readonly durationMs: number;
  /** True if nothing was sent, because the request could not be signed. The operator is notified. */
  readonly isUnsigned?: true;
}

/** Signs a body and sends it to an endpoint. */
export const post = async (
  { keys, clock, giveUp, signing }: SendingContext,
  endpoint: Endpoint,
  connection: Connection,
  { contentType, body }: Content,
): Promise<SentRequest> => {
  const at = clock.now();
  const deliveryId = deliveryIdOf(endpoint.webhookId, body);
  let secrets: Buffer[];
  try {
    if (keys === undefined) throw new Error('WEBHOOK_MASTER_KEY_FILE is not set');
    secrets = signingKeys(keys, endpoint, at);
  } catch (error) {
    signing.failed(new Error(`webhook ${endpoint.webhookId}: ${(error as Error).message}`));
    return {
      at,
      deliveryId,
      durationMs: 0,
      isUnsigned: true,
      response: { error: 'the request could not be signed; the operator has been notified' },
    };
  }
  const headers = {
    'content-type': contentType,
    'user-agent': USER_AGENT,
    ...signedHeaders(secrets, deliveryId, at, body),
  };
  const startedAt = performance.now();
  const url = new URL(endpoint.url);
  const span = tracing?.begin(deliverySpan(endpoint.webhookId, deliveryId, url));
  const traced = span === undefined ? headers : { ...headers, traceparent: span.traceparent };
  const response = await connection.send({ url, headers: traced, body }, giveUp);
  if (span !== undefined) endDeliverySpan(span, response);
  return { at, deliveryId, response, durationMs: Math.round(performance.now() - startedAt) };
};
