import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { type ApiResponse, call } from '../../test/support/call.js';
import { eventually } from '../../test/support/eventually.js';
import { BRANDS, delivered, edgeInstant, history, ORGANIZATIONS } from '../../test/support/histories.js';
import type { Random } from '../../test/support/random.js';
import { cloudEvent, sent, sentThreat, type Sent } from '../../test/support/upstream.js';
import { brandsAndFlags, inBatches } from '../rig/load.js';

/** The organization that is erased after its events were stored. */
const ERASED = 'b';
/** The organizations that remain. */
export const READERS = ORGANIZATIONS.filter((organization) => organization !== ERASED);
const BATCH = 500;
const SITES = 20;
const GROUPS = 3;
const POISON = 9;
/** The tables of 2.2.0 that reject the poison events, one of each projection that reads threats. */
const POISONED_TABLES = ['records', 'listed_records'];

/** A running installation of the release before. */
export interface Installation {
  readonly url: string;
  readonly pool: Pool;
  /** A key for all upstream events. */
  readonly ingestKey: string;
  /** The keys of the organizations with the scopes `read` and `write`. */
  readonly keys: ReadonlyMap<string, string>;
  /**
   * Runs an operator command of the release.
   * @throws Error if its exit code is not 0
   * @returns its output
   */
  readonly run: (...words: string[]) => Promise<string>;
}

/** What random requests may ask about. */
export interface Stored {
  readonly events: readonly Sent[];
  readonly accepted: number;
  /** Contents of assets, stored and not stored. */
  readonly contents: readonly string[];
  /** Instants in ms between the times of storing. */
  readonly moments: readonly number[];
  /** Ids of disputes and webhooks. */
  readonly disputes: readonly string[];
  readonly webhooks: readonly string[];
}

const site = (n: number): string => `site-${n}.example`;
const CONTENTS = Array.from({ length: SITES + 4 }, (_, n) => [
  site(n),
  `https://${site(n)}/`,
  `https://page-${n}.example/path-${n}`,
  `https://x.com/account_${n}`,
  `https://t.me/account_${n}`,
  `0x${String(n).padStart(40, '5aAe')}`,
]).flat();
const ASSETS = Array.from({ length: SITES }, (_, n) => [
  { type: 'PAGE', content: `https://page-${n}.example/path-${n}` },
  { type: 'TWITTER', content: `https://x.com/account_${n}` },
  { type: 'TELEGRAM', content: `https://t.me/account_${n}` },
  { type: 'ADDRESS', content: `0x${String(n).padStart(40, '5aAe')}` },
]).flat();

/** Changes of brands, flags and groups, which `history` does not contain. Some arrive after a newer change. */
const settings = (random: Random, size: number): Sent[] =>
  Array.from({ length: size }, () => {
    const organization = random.pick(ORGANIZATIONS);
    const updatedAt = new Date(Math.max(0, edgeInstant(random))).toISOString();
    const brand = random.pick([...BRANDS, 'later', 'removed']);
    const asset = random.pick(ASSETS);
    const groupId = 1 + random.int(GROUPS + 1);
    return random.pick([
      () => sent('BrandRegistered', { organization, brand, name: `Brand ${random.int(9)}`, updatedAt }),
      () => sent('BrandRemoved', { organization, brand: 'removed', updatedAt }),
      () =>
        sent('FeatureFlagChanged', {
          organization,
          flag: random.pick(['brands-metrics', 'x']),
          enabled: false,
          updatedAt,
        }),
      () => sent('AssetGrouped', { organization, groupId, asset, updatedAt }),
      () => sent('AssetGrouped', { organization, groupId, asset, updatedAt }),
      () => sent('AssetUngrouped', { organization, asset, updatedAt }),
    ])();
  });

/** Random events of all upstream types except `DisputeResolved`, out of order and repeated. */
const randomEvents = (random: Random, size: number): Sent[] => {
  const records = history(random, Math.floor(size * 0.8), 0).map((event) =>
    'asset' in event.data && random.chance(0.6)
      ? { ...event, data: { ...event.data, asset: random.pick(ASSETS) } }
      : event,
  );
  const events = [...records, ...settings(random, size - records.length)];
  return delivered(
    random,
    events.map((event, n) => ({ ...event, id: `e-${n}` })),
  );
};

/**
 * Fills an installation through its API and its commands with random events, commands, disputes, parked events, a
 * redaction, a retention and an erasure.
 * @param size the number of upstream events before repetitions
 */
export const fillRandomly = async (
  { url, pool, ingestKey, keys, run }: Installation,
  random: Random,
  size: number,
): Promise<Stored> => {
  const moments: number[] = [];
  let accepted = 0;
  let last: ApiResponse | undefined;

  const send = async (events: readonly Sent[]): Promise<void> => {
    for (const batch of inBatches(events, BATCH)) {
      const headers = { 'content-type': 'application/cloudevents-batch+json' };
      let response: ApiResponse;
      do {
        response = await call(`${url}/v2/events`, { key: ingestKey, headers, json: batch.map(cloudEvent) });
        if (response.status === 429 || response.status === 503) await sleep(200);
      } while (response.status === 429 || response.status === 503);
      if (response.status !== 200) throw new Error(`${response.status}: ${JSON.stringify(response.body)}`);
      last = response;
      accepted += Number(last.body.accepted);
      moments.push(Date.now());
    }
  };
  const settle = async (): Promise<void> => {
    const key = keys.get(READERS[0]!)!;
    for (const path of ['reports?limit=1', 'metrics?endDate=2020-01-01'])
      await eventually('the projector has processed all events', async () => {
        return (await call(`${url}/v2/organization/${path}`, { key, after: last })).status === 200;
      });
  };
  const write = async (organization: string, path: string, json?: object, method?: string): Promise<ApiResponse> =>
    call(`${url}${path}`, { key: keys.get(organization)!, json, ...(method && { method }) });

  const events = [...brandsAndFlags(), ...randomEvents(random, size)];
  const half = events.length >> 1;
  for (const organization of ORGANIZATIONS)
    for (let n = 0; n < GROUPS + 2; n += 1)
      await write(organization, '/v2/organization/asset-groups', { name: `Group ${n}` });
  await send(events.slice(0, half));
  // The second event is rejected.
  await send([
    sentThreat('accepted'),
    sent('ThreatStatusChanged', { organization: 'acme', status: 'wrong' }, 'rejected'),
  ]);
  await settle();

  const disputes: string[] = [];
  const resolutions: Sent[] = [];
  for (const organization of ORGANIZATIONS) {
    for (const content of random.shuffled(CONTENTS).slice(0, 60)) {
      const filed = await write(organization, '/v2/asset/disputes', { content, reason: `We own ${content}` });
      if (filed.status !== 201) continue;
      const disputeId = String(filed.body.id);
      disputes.push(disputeId);
      for (let n = random.int(3); n > 0; n -= 1) {
        const outcome = random.pick(['ACCEPTED', 'REJECTED']);
        const resolvedAt = new Date(Date.now() + random.int(9)).toISOString();
        resolutions.push(sent('DisputeResolved', { organization, disputeId, outcome, note: `Note ${n}`, resolvedAt }));
      }
    }
    const group = '/v2/organization/asset-groups/2';
    await write(organization, `${group}/assets`, { contents: CONTENTS.slice(0, 30) });
    await write(organization, `${group}/assets/remove`, { contents: CONTENTS.slice(5, 9) });
    await write(organization, group, { name: 'Renamed' }, 'PATCH');
    await write(organization, '/v2/organization/asset-groups/5', undefined, 'DELETE');
  }
  await send([...resolutions, ...events.slice(half)]);
  await settle();

  for (const table of POISONED_TABLES)
    await pool.query(`alter table read.${table} add constraint no_poison check (id not like 'poison-%')`);
  const poison = Array.from({ length: POISON }, (_, n) =>
    sentThreat(`poison-${n}`, { createdAt: '2025-01-01T00:00:00Z', updatedAt: '2025-01-01T00:00:00Z' }, `p-${n}`),
  );
  await send(poison);
  let parked: { readonly eventId: string }[] = [];
  await eventually('all poison events are parked', async () => {
    parked = JSON.parse(await run('parked', 'list', '--json')) as typeof parked;
    return parked.length >= POISON * POISONED_TABLES.length;
  });
  const ids = [...new Set(parked.map(({ eventId }) => eventId))];
  for (const id of ids.slice(0, POISON / 3)) await run('parked', 'drop', id, '--reason', 'a test');
  for (const table of POISONED_TABLES) await pool.query(`alter table read.${table} drop constraint no_poison`);
  await eventually('the dropped events are no longer parked', async () => {
    parked = JSON.parse(await run('parked', 'list', '--json')) as typeof parked;
    return parked.length === (POISON - POISON / 3) * POISONED_TABLES.length;
  });
  await run('parked', 'retry');

  await run('assets', 'redact', `https://${site(3)}/`);
  await run('retention', 'apply', '--older-than', '730d');
  await run('organizations', 'erase', ERASED, '--confirm', ERASED);

  const webhooks: string[] = [];
  for (const organization of READERS)
    for (const types of [['threat'], ['report', 'verdict'], undefined]) {
      const created = await write(organization, '/v2/organization/webhooks', { url: 'https://127.0.0.1:1024/', types });
      if (created.status !== 201) throw new Error(`${created.status}: ${JSON.stringify(created.body)}`);
      webhooks.push(String(created.body.id));
      await write(organization, `/v2/organization/webhooks/${created.body.id}`, { state: 'DISABLED' }, 'PATCH');
    }
  // The webhooks have records to send, which stay the same because they are disabled.
  await send(
    history(random, 200, 0)
      .map((event, n) => ({ ...event, id: `last-${n}` }))
      .filter(({ data }) => data['organization'] !== ERASED),
  );
  await settle();
  return {
    events: [...events, ...poison],
    accepted,
    contents: [...CONTENTS, 'poison.example', ''],
    moments,
    disputes,
    webhooks,
  };
};
