import { createHash, createHmac } from 'node:crypto';

/**
 * The `webhook-id` of a delivery: the same whenever an endpoint is sent the same content, by whichever process, and
 * another one if anything differs. Letters, digits, `_` and `-`.
 */
export const webhookIdOf = (endpoint: string, body: Buffer): string =>
  `msg_${createHash('sha256').update(endpoint).update('\n').update(body).digest().subarray(0, 18).toString('base64url')}`;

/**
 * The headers of Standard Webhooks 1.0.
 * @param secrets the bytes of each: the second only while a secret is being rotated
 * @param now ms
 */
export const signedHeaders = (
  secrets: readonly Buffer[],
  webhookId: string,
  now: number,
  body: Buffer,
): Readonly<Record<string, string>> => {
  const seconds = Math.floor(now / 1000);
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', secret).update(`${webhookId}.${seconds}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    'webhook-id': webhookId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
};
