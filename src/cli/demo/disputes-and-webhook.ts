import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pool } from 'pg';
import type { Asset } from '../../assets/asset.js';
import type { EventLog } from '../../event-log/event-log.js';
import { newEvent, requireValid } from '../../event-log/new-event.js';
import type { JsonCloudEvent } from '../../events/cloud-event-schema.js';
import { formatInstant, MS_PER_DAY, MS_PER_HOUR } from '../../events/instant.js';
import { newStoredKey } from '../../events/stored-key.js';
import { disputesStream } from '../../events/streams.js';
import type { Webhook } from '../../events/types/organizations.js';
import type { CheckVerdict } from '../../events/types/verdicts.js';
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

/** A host of the organization itself, which upstream blocks by mistake. It is no threat in the shipped data. */
const OWN_SHOP = 'shop.acme.example';

/**
 * The disputed contents, with how many hours ago each was filed, and how upstream decided after how many hours. The API
 * files a dispute only at the present moment, so these disputes are appended to the log.
 */
const DISPUTED = [
  { content: 'polkadot-dot.info', reason: 'The site shows no form for seed phrases any more.', hoursAgo: 5 },
  {
    content: 'checkmy-wallet.com',
    reason: 'A partner of ours says that this is their site.',
    hoursAgo: 12 * 24,
    decision: { hours: 76, outcome: 'REJECTED', note: 'The site asks for seed phrases.' },
  },
  {
    content: OWN_SHOP,
    reason: 'This is our own shop.',
    hoursAgo: 6 * 24,
    decision: { hours: 27, outcome: 'ACCEPTED', note: 'The shop was blocked by mistake. It is allowed now.' },
  },
] as const;

/** No request of a client files these disputes, so none can repeat it. */
const NO_REQUEST = { idempotencyKeyHash: undefined, bodyHash: undefined };

interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly body?: object;
  /** The response then includes the batch that the token names. */
  readonly token?: string | undefined;
  readonly type?: string;
  readonly signal: AbortSignal;
}

/** Calls the API. @throws Error if the status is not 2xx */
const request = async (url: string, key: string, path: string, options: Call): Promise<Response> => {
  const { method = 'GET', body, token, type = 'application/json', signal } = options;
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
  return response;
};

const call = async <Body>(url: string, key: string, path: string, options: Call): Promise<Body> =>
  (await (await request(url, key, path, options)).json()) as Body;

interface Check extends CheckVerdict {
  readonly asset: Asset;
  readonly sources: readonly { readonly source: string; readonly reason?: string }[];
}

/** Files the disputes and decides some of them, unless an earlier demo did. */
const fileDisputes = async (
  url: string,
  { organization, ingest }: Keys,
  signal: AbortSignal,
  log: EventLog,
): Promise<void> => {
  const { items } = await call<{ items: unknown[] }>(url, organization, '/asset/disputes?limit=1', { signal });
  if (items.length > 0) return;
  const now = Date.now();
  const send = async (events: readonly JsonCloudEvent[]): Promise<string | undefined> => {
    const type = 'application/cloudevents-batch+json';
    const { headers } = await request(url, ingest, '/events', { method: 'POST', type, body: events, signal });
    return headers.get('consistency-token') ?? undefined;
  };
  const statusOf = (asset: Asset, status: string, time: number): JsonCloudEvent => {
    const changeId = `${asset.content}-${status}-${time}`;
    const data = { changeId, asset, status, brandReviews: [], createdAt: formatInstant(time) };
    return cloudEvent(`${changeId}:status`, 'AssetStatusChanged', time, data);
  };
  const token = await send([statusOf({ type: 'URL', content: OWN_SHOP }, 'BLOCKED', now - 7 * MS_PER_DAY)]);
  for (const { content, reason, hoursAgo, ...decided } of DISPUTED) {
    const check = { method: 'POST', body: { content }, token, signal } as const;
    const { asset, ...verdict } = await call<Check>(url, organization, '/asset/check', check);
    if (verdict.status !== 'BLOCKED') continue;
    const disputeId = `dp_${randomBytes(12).toString('hex')}`;
    const createdAt = now - hoursAgo * MS_PER_HOUR;
    const data = { organization: ORGANIZATION, disputeId, asset, content, verdict, reason, createdAt, ...NO_REQUEST };
    const filed = requireValid({ type: 'DisputeFiled', data });
    await log.append(disputesStream(ORGANIZATION), 'any', [newEvent(filed, { assetKey: newStoredKey(filed) })]);
    if (!('decision' in decided)) continue;
    const { hours, ...decision } = decided.decision;
    const time = createdAt + hours * MS_PER_HOUR;
    const resolved = { organization: ORGANIZATION, disputeId, ...decision, resolvedAt: formatInstant(time) };
    const events = [cloudEvent(`dispute:${disputeId}`, 'DisputeResolved', time, resolved)];
    if (decision.outcome === 'ACCEPTED') events.push(statusOf(asset, 'ALLOWED', time));
    await send(events);
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
  log: EventLog,
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
  await fileDisputes(url, keys, signal, log);
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
