import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXAMPLES, type JsonCloudEvent } from '../../../src/events/cloud-event-schema.js';
import { databaseTime } from '../../../src/postgres/clock.js';
import { type ExampleRequest, exampleRequests } from '../../support/example-requests.js';
import { type Scene, setScene } from './scene.js';

/** The operations that are called first and last, in this order. The others do not depend on each other. */
const FIRST = [
  'sendEvents',
  'listRejectedEvents',
  'listParkedEvents',
  'getEventUsage',
  'getEventStatus',
  'createAssetGroup',
  'assignAssets',
  'createWebhook',
  'checkAsset',
  'checkAssets',
  'fileDispute',
];
const LAST = [
  'unassignAssets',
  'renameAssetGroup',
  'deleteAssetGroup',
  'changeWebhook',
  'replayWebhook',
  'rotateWebhookSecret',
  'deleteWebhook',
];

const requests = new Map(exampleRequests().map((request) => [request.id, request]));
const others = [...requests.keys()].filter((id) => !FIRST.includes(id) && !LAST.includes(id));

/** Returns the names of all properties of a value. For a list, returns those of its first item. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return 'a value';
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]));
};

const shapeOfBody = (type: string | undefined, body: unknown): unknown =>
  type === 'text/csv' ? String(body).split('\r\n')[0] : shapeOf(body);

let scene: Scene;
/** The collections of TAXII are read-only. */
const REFUSED = ['sendTaxiiObjects', 'deleteTaxiiObject'];

let webhook = '';
let dispute = '';
let indicator = '';
let organizationKey: string;
let upstreamKey: string;
beforeAll(async () => {
  scene = await setScene();
  organizationKey = await scene.key(['read', 'write']);
  upstreamKey = await scene.key(['ingest']);
});
// Fails if a response was not as the reference declares it.
afterAll(() => scene?.close());

const send = (events: readonly object[]) =>
  scene.app.call('/v2/events', {
    key: upstreamKey,
    json: events,
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  });

const statusOf = (content: string): JsonCloudEvent => {
  const example = EXAMPLES.find(({ type }) => type === 'AssetStatusChanged')!;
  return { ...example, id: content, data: { ...example.data, changeId: 'change-1', asset: { type: 'URL', content } } };
};

/** The preparations that the example of an operation requires. */
const PREPARED: Readonly<Record<string, () => Promise<unknown>>> = {
  listRejectedEvents: async () => {
    const { body } = await send([...EXAMPLES, { ...EXAMPLES[0]!, id: 'wrong', data: {} }]);
    expect(body).toMatchObject({
      accepted: EXAMPLES.length - 1,
      duplicates: 1,
      rejected: [{ index: EXAMPLES.length }],
    });
  },
  listParkedEvents: () =>
    scene.app.pool.query(
      `insert into read.parked_events
         (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at, key_id)
       select 'metrics', gen_random_uuid(), 0, 'none', 0, 'ThreatStatusChanged', '{}', '{}', 'unknown', 0, key_id
       from service.rejections`,
    ),
  listDisputes: () => {
    const resolved = EXAMPLES.find(({ type }) => type === 'DisputeResolved')!;
    const data = { ...resolved.data, disputeId: dispute, resolvedAt: new Date().toISOString() };
    return send([{ ...resolved, id: 'resolved', data }]);
  },
  getRestatement: () => restated(),
  listRestatedRecords: () => restated(),
  getRestatedRecordsTable: () => restated(),
  getAssetHistory: () => send([statusOf('polkadot-dot.info')]),
  listWebhookAttempts: () =>
    scene.app.pool.query('insert into service.webhook_attempts values ($1, 1, $2)', [
      webhook,
      { at: 0, deliveryId: 'msg-1', records: 1, ms: 41, isTest: false, status: 204 },
    ]),
};

/** The instant before the example of a threat was moved, and another one was stored late. */
let restatedFrom: string | undefined;
const restated = async (): Promise<void> => {
  if (restatedFrom !== undefined) return;
  restatedFrom = new Date(await databaseTime(scene.app.pool)).toISOString();
  await new Promise((resolve) => setTimeout(resolve, 5));
  const threat = EXAMPLES.find(({ type }) => type === 'ThreatStatusChanged')!;
  const createdAt = new Date(Date.parse(threat.data['createdAt'] as string) + 1).toISOString();
  const moved = { ...threat.data, createdAt, updatedAt: new Date().toISOString(), status: 'BLOCKED' };
  await send([{ ...threat, id: 'late', data: { ...threat.data, status: 'BLOCKED', threatId: 'late' } }]);
  await send([{ ...threat, id: 'moved', data: moved }]);
};

const firstIndicator = async (): Promise<string> => {
  const { body } = await scene.app.call('/taxii2/api/collections/threats/objects', { key: organizationKey });
  return (body as { objects: { id: string }[] }).objects[0]!.id;
};

const call = async ({ id, method, path, headers, body, type, response }: ExampleRequest): Promise<void> => {
  await PREPARED[id]?.();
  await scene.caughtUp();
  const key = path.startsWith('/v2/events') ? upstreamKey : organizationKey;
  if (id === 'getTaxiiObject') indicator = await firstIndicator();
  const named = path
    .replace(/wh_\w+/, webhook)
    .replace(/dp_\w+/, dispute)
    .replace(/indicator--[\w-]+/, indicator)
    .replace(/([?&])from=[^&]*/, `$1from=${restatedFrom}`);
  const answer = await scene.app.call(named, {
    method,
    headers,
    json: body,
    ...(/^\/(?:v2|taxii2)(?:\/|$)/.test(path) && { key }),
  });
  if (id === 'createWebhook') webhook = (answer.body as { id: string }).id;
  if (id === 'fileDispute') dispute = (answer.body as { id: string }).id;
  expect([id, answer.status, answer.body]).toEqual([id, /^(?:create|file)/.test(id) ? 201 : 200, answer.body]);
  // The metrics of the process are text, and have no example. The example of a dispute is resolved, unlike a new dispute.
  if (id !== 'getPrometheusMetrics' && id !== 'fileDispute')
    expect([id, shapeOfBody(type, answer.body)]).toEqual([id, shapeOfBody(type, response)]);
};

describe('The examples of the reference', () => {
  it('are accepted by the service, whose responses have the properties of the examples', async () => {
    for (const id of [...FIRST, ...others, ...LAST]) if (!REFUSED.includes(id)) await call(requests.get(id)!);
  });
});
