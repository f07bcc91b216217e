import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pool } from 'pg';
import type { EventLog } from '../../event-log/event-log.js';
import type { Webhook } from '../../events/types/organizations.js';
import { say } from '../../runtime/terminal.js';
import { loadWebhooks } from '../../webhooks/load-webhooks.js';
import { WebhookCommands } from '../../webhooks/webhook-commands.js';
import { operatorName } from '../session.js';
import type { Keys } from './header-files.js';
import { cloudEvent, ORGANIZATION } from './row-events.js';

/** What the demo does as a user of the API after its data is stored: disputes, a group, and a webhook with a receiver. */

export const LOOPBACK = '127.0.0.1';
/** How long the service holds a request until a batch is counted. */
export const WAIT_SECONDS = 10;
const OWN_SITES = ['metamask.io', 'polkadot.com', 'app.uniswap.org', 'walletconnect.com'];

/** The disputed contents, all of which are blocked by the shipped data, and how upstream decides each dispute. */
const DISPUTED = [
  { content: 'polkadot-dot.info' },
  { content: 'https://x.com/AcalaNetworks', outcome: 'REJECTED', note: 'The profile imitates Acala.' },
  { content: 'checkmy-wallet.com', outcome: 'ACCEPTED', note: 'The site was cleaned.' },
] as const;

interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: object;
  /** The response then includes the batch that the token names. */
  readonly token?: string | undefined;
  readonly type?: string;
  readonly signal: AbortSignal;
}

/** Calls the API. @throws Error if the status is not 2xx */
const call = async <Body>(url: string, key: string, path: string, request: Call): Promise<Body> => {
  const { method = 'GET', body, token, type = 'application/json', signal } = request;
  const response = await fetch(`${url}/v2${path}`, {
    method,
    redirect: 'error',
    headers: {
      'x-api-key': key,
      ...(body !== undefined && { 'content-type': type }),
      ...(token !== undefined && { 'consistency-token': token, prefer: `wait=${WAIT_SECONDS}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal,
  });
  if (!response.ok) throw new Error(`${response.url} responded with ${response.status}: ${await response.text()}`);
  return (await response.json()) as Body;
};

interface Check {
  readonly status: string;
  readonly sources: readonly { readonly source: string; readonly reason?: string }[];
}

interface Filed {
  readonly id: string;
  readonly asset: object;
  readonly createdAt: string;
}

/** Files the disputes and decides some of them, unless an earlier demo did. */
const fileDisputes = async (url: string, { organization, ingest }: Keys, signal: AbortSignal): Promise<void> => {
  const { items } = await call<{ items: unknown[] }>(url, organization, '/asset/disputes?limit=1', { signal });
  if (items.length > 0) return;
  for (const { content, ...decision } of DISPUTED) {
    const check = { method: 'POST', body: { content }, signal } as const;
    if ((await call<Check>(url, organization, '/asset/check', check)).status !== 'BLOCKED') continue;
    const body = { content, reason: 'The demo files this dispute.' };
    const filed = { method: 'POST', body, signal } as const;
    const { id, asset, createdAt } = await call<Filed>(url, organization, '/asset/disputes', filed);
    if (!('outcome' in decision)) continue;
    const time = Date.parse(createdAt);
    const events = [
      cloudEvent(`dispute:${id}`, 'DisputeResolved', time, {
        organization: ORGANIZATION,
        disputeId: id,
        ...decision,
        resolvedAt: createdAt,
      }),
    ];
    if (decision.outcome === 'ACCEPTED')
      events.push(
        cloudEvent(`dispute:${id}:status`, 'AssetStatusChanged', time, {
          changeId: `dispute-${id}`,
          asset,
          status: 'ALLOWED',
          brandReviews: [],
          createdAt,
        }),
      );
    const type = 'application/cloudevents-batch+json';
    await call(url, ingest, '/events', { method: 'POST', type, body: events, signal });
  }
};

/**
 * Files disputes, groups the sites of the brands, and says which lists could not be fetched.
 * @param token of the newest batch of the data, with which the asset check knows the statuses of the data
 */
export const useService = async (
  url: string,
  keys: Keys,
  signal: AbortSignal,
  token: string | undefined,
): Promise<void> => {
  const key = keys.organization;
  const body = { content: DISPUTED[0].content };
  const { sources } = await call<Check>(url, key, '/asset/check', { method: 'POST', body, token, signal });
  const failed = sources.filter(({ reason }) => reason === 'source-error' || reason === 'timeout');
  if (failed.length > 0)
    say(
      `The asset check runs without the lists ${failed.map(({ source }) => source).join(', ')}, which could not be fetched; ` +
        'the service tries again every few minutes, and the demo needs none of them',
    );
  await fileDisputes(url, keys, signal);
  const groups = '/organization/asset-groups';
  const name = 'Our own sites';
  const existing = await call<{ groups: { name: string }[] }>(url, key, groups, { signal });
  if (existing.groups.some((group) => group.name === name)) return;
  const { id } = await call<{ id: number }>(url, key, groups, { method: 'POST', body: { name }, signal });
  await call(url, key, `${groups}/${id}/assets`, { method: 'POST', body: { contents: OWN_SITES }, signal });
};

/** The path of every receiver, by which the webhooks of demos are found. */
const RECEIVER_PATH = '/receiver-of-the-demo';
/** Records in a delivery, and the bytes that they may take. */
const BATCH = 100;
const MAX_DELIVERY_BYTES = 1_000_000;
const DELETE_TIMEOUT_MS = 2_000;

/** Whether the secret has signed the delivery, as Standard Webhooks 1.0 specifies. */
const isSigned = ({ headers }: IncomingMessage, body: Buffer, secret: string): boolean => {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.`;
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(signed).update(body).digest('base64')}`);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((signature) => Buffer.from(signature))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected));
};

/** Receives deliveries on this machine, and answers 204 if their signature is right. */
const receive = (secretNow: () => string | undefined) =>
  createServer((request, response) => {
    const end = (status: number, text = ''): void => void response.writeHead(status).end(text);
    if (request.method !== 'POST')
      return end(405, 'The receiver of the demo accepts only the deliveries of its webhook\n');
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('error', () => response.destroy());
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_DELIVERY_BYTES) request.destroy();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      const secret = secretNow();
      end(secret !== undefined && isSigned(request, Buffer.concat(chunks), secret) ? 204 : 401);
    });
  });

/** The webhook of one demo and its receiver, which exist as long as the demo. */
export class DemoWebhook {
  #secret: string | undefined;
  readonly #receiver = receive(() => this.#secret);
  #delete = (): Promise<unknown> => Promise.resolve();

  async create(url: string, key: string, signal: AbortSignal): Promise<void> {
    this.#receiver.listen(0, LOOPBACK);
    await once(this.#receiver, 'listening');
    const { port } = this.#receiver.address() as AddressInfo;
    const body = {
      url: `http://${LOOPBACK}:${port}${RECEIVER_PATH}`,
      description: 'A receiver on this machine, which ends with the demo',
      types: ['takedown', 'dispute'],
      batch: BATCH,
      from: 'beginning',
    };
    const path = '/organization/webhooks';
    const { id, secret } = await call<{ id: string; secret: string }>(url, key, path, { method: 'POST', body, signal });
    this.#secret = secret;
    this.#delete = () =>
      call(url, key, `${path}/${id}`, { method: 'DELETE', signal: AbortSignal.timeout(DELETE_TIMEOUT_MS) });
    say(`The webhook ${id} sends takedowns and disputes to a receiver of the demo, ${body.url}`);
    say(`  Its secret, with which the receiver verifies each delivery: ${secret}`);
  }

  /** Deletes the webhook and stops the receiver. Takes at most 2 s and never rejects, so that the demo always ends. */
  async delete(): Promise<void> {
    await this.#delete().catch(({ message }: Error) => {
      say(`The webhook of this demo could not be deleted: ${message}`);
      say('It goes to no receiver any more. To delete it, run `node dist/src/cli.js demo --clean`');
    });
    this.#receiver.close();
    this.#receiver.closeAllConnections();
  }
}

/** Deletes the webhooks of all demos, including running demos. @returns how many were deleted */
export const deleteDemoWebhooks = async (log: EventLog, pool: Pool): Promise<number> => {
  const { byId } = await loadWebhooks(pool, log, ORGANIZATION);
  const isLeft = ({ url, state }: Webhook): boolean =>
    state !== 'DELETED' && url.startsWith(`http://${LOOPBACK}:`) && url.endsWith(RECEIVER_PATH);
  const left = [...byId.values()].filter(isLeft);
  const commands = new WebhookCommands(log, pool);
  for (const { webhookId } of left)
    await commands.execute({ type: 'Delete', organization: ORGANIZATION, webhookId }, { operator: operatorName() });
  return left.length;
};
