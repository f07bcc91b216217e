import { Agent } from 'node:http';
import { sendRequest } from './http-request.js';
import type { RunContext } from './run-context.js';
import type { Target } from './target.js';
import { Statuses } from './statuses.js';

export const CONNECTIONS = 4;

/**
 * Sends batches of events with a key of the organization. Each connection sends the next batch as soon as it has the
 * response to the previous one, retries rejected batches immediately and ignores `Retry-After`.
 * @param batchOf returns the n-th batch of a connection
 */
export const sendAtFullRate = async (
  context: RunContext,
  { url, ingestKeys }: Target,
  { organization, seconds }: { readonly organization: string; readonly seconds: number },
  batchOf: (connection: number, n: number) => readonly object[],
): Promise<{ readonly accepted: number; readonly statuses: Statuses }> => {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const statuses = new Statuses();
  const until = Date.now() + seconds * 1_000;
  let accepted = 0;
  const send = async (connection: number): Promise<void> => {
    for (let n = 0; Date.now() < until;) {
      const request = { key: ingestKeys[organization]!, events: batchOf(connection, n), agent, timeoutMs: 60_000 };
      const { status, headers, body } = await sendRequest(`${url}/v2/events`, request);
      statuses.add(status, headers);
      accepted += body.accepted ?? 0;
      context.reportProgress(`${accepted} events accepted`);
      if (status === 200) n += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => send(connection)));
  agent.destroy();
  return { accepted, statuses };
};
