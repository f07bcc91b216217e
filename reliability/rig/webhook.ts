import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Receiver } from '../../test/support/receiver.js';
import { sendRequest } from './http-request.js';
import type { Environment } from './processes.js';
import type { RunContext } from './run-context.js';

/** Creates a master key file in `folder`. @returns settings that enable webhooks with receivers on loopback */
export const webhookSettings = async (folder: string): Promise<Environment> => {
  const file = join(folder, 'master-keys');
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`);
  return { WEBHOOK_MASTER_KEY_FILE: file, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
};

/**
 * Checks that all records were delivered in order, with at most `mostRepeated` redeliveries.
 * @param expected the subjects in order
 */
export const checkDelivered = ({ subjects }: Receiver, expected: readonly string[], mostRepeated = 0): string[] => {
  const firstDeliveries = [...new Set(subjects)];
  const firstDifference = expected.findIndex((subject, n) => firstDeliveries[n] !== subject);
  if (firstDifference >= 0)
    return [`The webhook got ${firstDeliveries[firstDifference] ?? 'nothing'} instead of ${expected[firstDifference]}`];
  const repeated = subjects.length - expected.length;
  return repeated > mostRepeated
    ? [`The webhook got ${repeated} repeated requests; at most ${mostRepeated} are allowed`]
    : [];
};

/** Creates a webhook for the organization of the key. @returns its receiver */
export const createWebhook = async (context: RunContext, url: string, key: string): Promise<Receiver> => {
  const receiver = new Receiver();
  const json = { url: `${await receiver.start()}/hooks` };
  context.onEnd(() => receiver.stop());
  const response = await sendRequest(`${url}/v2/organization/webhooks`, { key, json });
  if (response.status !== 201)
    throw new Error(`Creating the webhook failed with ${response.status}: ${JSON.stringify(response.body)}`);
  return receiver;
};
