import { issueApiKey } from '../../src/api-keys/api-keys.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { ORGANIZATIONS } from '../../test/support/histories.js';
import { eventually } from '../../test/support/eventually.js';
import { sendRequest } from './http-request.js';

/** An upstream key, and one key per organization with the scopes read and write. */
export interface Keys {
  readonly ingest: string;
  readonly read: Readonly<Record<string, string>>;
}

/** Issues an upstream key, and a key with the scopes read and write for each organization. */
export const issueKeys = async (log: EventLog, organizations: readonly string[] = ORGANIZATIONS): Promise<Keys> => {
  const read: Record<string, string> = {};
  for (const organization of organizations)
    read[organization] = (await issueApiKey(log, { scopes: ['read', 'write'], organization })).key;
  return { ingest: (await issueApiKey(log, { scopes: ['ingest'] })).key, read };
};

/** Waits until a service has read the keys from the log. */
export const waitUntilKeysKnown = (url: string, { ingest }: Keys): Promise<void> =>
  eventually(
    'the keys are known',
    async () => (await sendRequest(`${url}/v2/events`, { key: ingest, events: [] })).status === 200,
  );
