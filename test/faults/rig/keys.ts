import { issueApiKey } from '../../../src/api-keys/issue-api-key.js';
import { readConfig } from '../../../src/runtime/config.js';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { openEventLog } from '../../../src/event-log/open-event-log.js';
import { ORGANIZATIONS } from '../../projections/histories.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.js';
import type { Keys } from './check.js';
import type { Scene } from './scene.js';

/** The log of a database, for a look at it from outside. */
export const openLog = async (scene: Scene, databaseUrl: string): Promise<EventLog> => {
  const log = await openEventLog(readConfig({ DATABASE_URL: databaseUrl }));
  scene.later(() => log.close());
  return log;
};

/** @param organizations whose metrics are to be read */
export const issueKeys = async (log: EventLog, organizations: readonly string[] = ORGANIZATIONS): Promise<Keys> => {
  const read: Record<string, string> = {};
  for (const organization of organizations)
    read[organization] = (await issueApiKey(log, { scopes: ['read', 'write'], organization })).key;
  return { ingest: (await issueApiKey(log, { scopes: ['ingest'] })).key, read };
};

/** Waits until a service knows the keys, which it follows in the log like every event. */
export const keysKnown = async (url: string, { ingest }: Keys): Promise<void> => {
  const type = 'application/cloudevents-batch+json';
  while ((await ask(`${url}/v2/events`, { method: 'POST', key: ingest, type, body: '[]' })).status !== 200)
    await sleep(20);
};
