import { issueApiKey } from '../../src/api-keys/issue-api-key.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { ORGANIZATIONS } from '../../test/projections/histories.js';
import { eventually } from '../../test/support/eventually.js';
import { ask } from './ask.js';

/** A key for the events, and one for each organization's metrics. */
export interface Keys {
  readonly ingest: string;
  readonly read: Readonly<Record<string, string>>;
}

/** @param organizations whose metrics are to be read */
export const issueKeys = async (log: EventLog, organizations: readonly string[] = ORGANIZATIONS): Promise<Keys> => {
  const read: Record<string, string> = {};
  for (const organization of organizations)
    read[organization] = (await issueApiKey(log, { scopes: ['read', 'write'], organization })).key;
  return { ingest: (await issueApiKey(log, { scopes: ['ingest'] })).key, read };
};

/** Waits until a service knows the keys, which it follows in the log like every event. */
export const keysKnown = (url: string, { ingest }: Keys): Promise<void> =>
  eventually(
    'the keys are known',
    async () => (await ask(`${url}/v2/events`, { key: ingest, events: [] })).status === 200,
  );
