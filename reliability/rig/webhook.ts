import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Receiver } from '../../test/webhooks/delivery/receiver.js';
import { ask } from './ask.js';
import type { Environment } from './processes.js';
import type { Scene } from './scene.js';

/** A file with a master key, and leave to deliver to loopback. @param folder where the file is made */
export const webhookSettings = async (folder: string): Promise<Environment> => {
  const file = join(folder, 'master-keys');
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`);
  return { WEBHOOK_MASTER_KEY_FILE: file, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
};

/** Each record came, in order; what came again is counted. @param due their subjects */
export const checkDelivered = ({ subjects }: Receiver, due: readonly string[], mostRepeated = 0): string[] => {
  const first = [...new Set(subjects)];
  const wrong = due.findIndex((subject, n) => first[n] !== subject);
  if (wrong >= 0) return [`The webhook got ${first[wrong] ?? 'nothing'} where ${due[wrong]} was due`];
  const repeated = subjects.length - due.length;
  return repeated > mostRepeated
    ? [`The webhook got ${repeated} requests too many, at most ${mostRepeated} may be`]
    : [];
};

/** Creates a webhook of the key's organization. @returns who gets it */
export const createWebhook = async (scene: Scene, url: string, key: string): Promise<Receiver> => {
  const receiver = new Receiver();
  const json = { url: `${await receiver.start()}/hooks` };
  scene.later(() => receiver.stop());
  const answer = await ask(`${url}/v2/organization/webhooks`, { key, json });
  if (answer.status !== 201)
    throw new Error(`The webhook was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return receiver;
};
