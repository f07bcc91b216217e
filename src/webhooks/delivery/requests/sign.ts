import { createHash, createHmac } from 'node:crypto';

/**
 * The `webhook-id` of a delivery: a hash of the endpoint and the body, so that a retry has the same id, whichever process
 * sends it. Contains only letters, digits, `_` and `-`.
 */
export const deliveryIdOf = (endpoint: string, body: Buffer): string =>
  `msg_${createHash('sha256').update(endpoint).update('\n').update(body).digest().subarray(0, 18).toString('base64url')}`;

/**
 * Returns the headers of Standard Webhooks 1.0.
 * @param secrets the secrets as bytes; two while a secret is being rotated
 * @param now the current time, in ms
 */
export const signedHeaders = (
  secrets: readonly Buffer[],
  deliveryId: string,
  now: number,
  body: Buffer,
): Readonly<Record<string, string>> => {
  const seconds = Math.floor(now / 1000);
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', secret).update(`${deliveryId}.${seconds}.`).update(body);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
};
