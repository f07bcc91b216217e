import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { Webhook as Verifier } from 'standardwebhooks';
import { rebuild } from '../../../projections/engine/rebuild.js';
import { PROJECTIONS } from '../../../projections/registry.js';
import type { Webhook } from '../../../src/events/types/organizations.js';
import { NEXT_ELEMENTS } from '../../../src/records/feed/feed-elements.js';
import type { StoredProgress } from '../../../src/webhooks/progress-sql.js';
import { pause } from '../../../src/flow/time.js';
import { addWebhookMetrics } from '../../../src/ops/webhook-metrics.js';
import { MasterKeys } from '../../../src/webhooks/secrets.js';
import { startProjecting } from '../../support/projecting.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { sent, stored } from '../../support/upstream.js';
import { answering, Receiver, subjectsIn } from '../../support/receiver.js';
import { AT, FastClock, Rig } from '../../support/delivery-rig.js';
import { USER_AGENT } from '../../../src/runtime/version.js';

const HOUR = 3_600_000;
const named = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => `t${n + from}`);

let rig: Rig;
let receiver: Receiver;
let url: string;

beforeEach(async () => {
  rig = await Rig.start();
  receiver = new Receiver();
  url = await receiver.start();
});
afterEach(async () => {
  await receiver.stop();
  await rig.end();
});

const waitForRequests = (count: number): Promise<void> =>
  eventually(`${count} requests`, () => receiver.received.length >= count);
const waitForCursor = (webhook: Webhook, position: bigint | number): Promise<void> =>
  eventually(`${webhook.webhookId} at ${position}`, async () => {
    const [row] = await rig.rows<{ position: number }>(
      `select (progress ->> 'position')::int as position from service.webhook_progress where endpoint = $1`,
      [webhook.webhookId],
    );
    return row?.position === Number(position);
  });
/** Waits until the deliveries have polled for endpoints several more times. */
const lookedAgain = async ({ polls }: Awaited<ReturnType<Rig['deliver']>>): Promise<void> => {
  const before = polls();
  await eventually('more polls', () => polls() >= before + 4);
};
const stateOf = async ({ webhookId }: Webhook): Promise<unknown> =>
  (
    await rig.rows(
      `select state, endpoint ->> 'disabledReason' as disabled_reason from read.webhook_endpoints where id = $1`,
      [webhookId],
    )
  )[0];
const waitUntilDisabled = (webhook: Webhook, reason: string): Promise<void> =>
  eventuallyPasses(async () => {
    await rig.projecting.reached();
    expect(await stateOf(webhook)).toEqual({ state: 'DISABLED', disabled_reason: reason });
  });

describe('An endpoint', () => {
  it('receives each record once, in order, in requests that the standardwebhooks library verifies', async () => {
    const webhook = await rig.endpoint(`${url}/hooks?token=1`);
    await rig.deliver();
    await rig.block(named(30));
    await waitForRequests(30);
    await waitForCursor(webhook, await rig.log.head());
    expect(receiver.subjects).toEqual(named(30));
    const verifier = new Verifier(rig.secretOf(webhook));
    const other = await rig.endpoint(url, { state: 'DISABLED' });
    for (const { headers, body, path } of receiver.received) {
      const element = verifier.verify(body, headers as Record<string, string>) as { id: string; subject: string };
      expect(element).toMatchObject({
        specversion: '1.0',
        type: 'threat-protection.threat',
        data: { id: element.subject, status: 'BLOCKED' },
      });
      expect(() => new Verifier(rig.secretOf(other)).verify(body, headers as Record<string, string>)).toThrow(/sig/);
      expect(path).toBe('/hooks?token=1');
      expect(headers).toMatchObject({
        'content-type': 'application/cloudevents+json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': USER_AGENT,
      });
      for (const absent of ['cookie', 'authorization', 'transfer-encoding']) expect(headers).not.toHaveProperty(absent);
    }
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(30);
    // All requests use one connection.
    expect(receiver.connections).toBeLessThan(5);
    expect(await rig.rows('select outcome, attempts from service.webhook_outcomes')).toEqual([
      { outcome: 'delivered', attempts: 30 },
    ]);
  });

  it('is counted by the outcome of its requests in the metrics', async () => {
    await rig.endpoint(url);
    const outcomes = { delivered: 3, refused: 2, unanswered: 1 };
    await rig.rows(
      `insert into service.webhook_outcomes (outcome, attempts) select key, value::int from json_each_text($1)`,
      [JSON.stringify(outcomes)],
    );
    const registry = new Registry();
    await addWebhookMetrics(rig.database.pool, registry)();
    const text = await registry.metrics();
    expect([...text.matchAll(/attempts_total\{outcome="(\w+)"\} (\d+)/g)].map(([, ...pair]) => pair)).toEqual([
      ['delivered', '3'],
      ['error_response', '2'],
      ['no_response', '1'],
    ]);
  });

  it('receives the records that pass its filter, and all deletions', async () => {
    const types = ['threat'] as const;
    const webhook = await rig.endpoint(url, { types: [...types], statuses: ['WATCHLISTED'], batch: 10 });
    await rig.block(named(150));
    await rig.block(['w1', 'w2'], 'acme', 'WATCHLISTED');
    await rig.block(['x'], 'other', 'WATCHLISTED');
    const gone = sent('ThreatDeleted', { organization: 'acme', threatId: 't7', deletedAt: '2026-03-02T00:00:00Z' });
    await rig.log.appendAll([stored(gone)]);
    await rig.projecting.reached();
    await rig.deliver();
    await waitForRequests(1);
    await waitForCursor(webhook, await rig.log.head());
    expect(receiver.subjects).toEqual(['w1', 'w2', 't7']);
    const [{ headers, body }] = receiver.received as [Receiver['received'][number]];
    expect(headers['content-type']).toBe('application/cloudevents-batch+json');
    expect(JSON.parse(body)).toMatchObject([{}, {}, { method: 'DELETE' }]);
  });

  it('that was down for a day receives everything afterwards, in order', async () => {
    const clock = new FastClock();
    const webhook = await rig.endpoint(url, { batch: 10 });
    receiver.react = (received, response) => {
      const isUp = clock.now() >= Date.parse(AT) + 24 * HOUR;
      answering(isUp ? 200 : 503)(received, response, undefined!);
    };
    await rig.block(named(25));
    await rig.projecting.reached();
    await rig.deliver({ clock });
    await waitForCursor(webhook, await rig.log.head());
    const failed = receiver.received.slice(0, -3);
    // Every retry has the same body and the same id.
    expect(new Set(failed.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(receiver.received.slice(-3).flatMap(({ body }) => subjectsIn(body))).toEqual(named(25));
    expect(failed.length).toBeGreaterThan(24);
    expect(failed.length).toBeLessThan(36);
    const [row] = await rig.rows('select progress from service.webhook_progress');
    expect(row).toMatchObject({ progress: { failingSince: null, tries: 0, nextAttemptAt: null, refused: 0 } });
  });

  it('that returns 410 is disabled immediately, and continues at its cursor once it is enabled again', async () => {
    const webhook = await rig.endpoint(url);
    receiver.react = answering(410);
    await rig.deliver({ clock: new FastClock() });
    await rig.block(named(3));
    await waitUntilDisabled(webhook, 'gone');
    expect(receiver.received).toHaveLength(1);
    receiver.react = answering(200);
    await rig.appendWebhookEvent('WebhookEnabled', webhook);
    await waitForRequests(4);
    expect(receiver.subjects.slice(1)).toEqual(named(3));
  });

  it('that returned 410 is disabled again if a failover loses the event, and gets no further request', async () => {
    const webhook = await rig.endpoint(url);
    receiver.react = answering(410);
    const append = rig.log.append.bind(rig.log);
    let disabled = 0;
    jest.spyOn(rig.log, 'append').mockImplementation(async (stream, expected, events) => {
      if (events[0]?.type !== 'WebhookDisabled' || (disabled += 1) > 1) return append(stream, expected, events);
      return { position: await rig.log.head(), revision: 0n, duplicate: false };
    });
    await rig.deliver({ clock: new FastClock() });
    await rig.block(named(3));
    await waitUntilDisabled(webhook, 'gone');
    expect(disabled).toBe(2);
    expect(receiver.received).toHaveLength(1);
  });

  it('that fails for five days is disabled, after no more attempts than scheduled', async () => {
    const webhook = await rig.endpoint(url);
    receiver.react = answering(500);
    await rig.block(named(1));
    await rig.projecting.reached();
    await rig.deliver({ clock: new FastClock() });
    await waitUntilDisabled(webhook, 'failing');
    expect(receiver.received.length).toBeGreaterThan(100);
    expect(receiver.received.length).toBeLessThan(160);
    const [attempts] = await rig.rows<{ n: number }>('select count(*)::int as n from service.webhook_attempts');
    expect(attempts).toEqual({ n: 100 });
  });

  it('that fails with a response that PostgreSQL would reject after truncation is disabled like any other', async () => {
    const webhook = await rig.endpoint(url);
    // Each control character is escaped to six characters, and the limit is in the middle of an emoji.
    receiver.react = answering(500, {}, `${'\u001b'.repeat(170)}a${'😀'.repeat(100)}`);
    await rig.block(named(1));
    await rig.projecting.reached();
    await rig.deliver({ clock: new FastClock() });
    await waitUntilDisabled(webhook, 'failing');
    expect(receiver.received.length).toBeLessThan(160);
  });

  it('receives at most 1 MiB per request', async () => {
    await rig.endpoint(url, { batch: 8 });
    await rig.block(named(8));
    await rig.projecting.reached();
    await rig.rows(`update read.register
      set content = repeat('x', case id when 't7' then 2000000 else 300000 end)`);
    await rig.deliver();
    await waitForRequests(4);
    expect(receiver.received.map(({ body }) => subjectsIn(body).length)).toEqual([3, 3, 1, 1]);
  });

  it('that rejects one record of a batch misses only this record, which its attempts name', async () => {
    const webhook = await rig.endpoint(url, { batch: 8 });
    receiver.react = (received, response) =>
      answering(subjectsIn(received.body).includes('t5') ? 422 : 200)(received, response, undefined!);
    await rig.block(named(12));
    await rig.projecting.reached();
    await rig.deliver({ clock: new FastClock() });
    await waitForCursor(webhook, await rig.log.head());
    const alone = receiver.received.filter(({ body }) => subjectsIn(body).join() === 't5');
    expect(alone).toHaveLength(20);
    const withoutRejected = receiver.received.filter(({ body }) => !subjectsIn(body).includes('t5'));
    expect(withoutRejected.flatMap(({ body }) => subjectsIn(body))).toEqual(named(12).filter((id) => id !== 't5'));
    const aside = await rig.rows(
      `select attempt -> 'setAside' as record from service.webhook_attempts where attempt ->> 'setAside' is not null`,
    );
    expect(aside).toEqual([{ record: { type: 'threat', id: 't5' } }]);
  });

  /** Delivers until a record alone in its request has been rejected 19 times, as another process then finds it. */
  const rejectedBefore = async (isAlone: (received: { readonly body: string }) => boolean): Promise<void> => {
    const rejections = (): number => receiver.received.filter(isAlone).length;
    const clock = new FastClock();
    const fastPause = clock.pause.bind(clock);
    // After the 19th rejection, the delivery waits until it is stopped.
    clock.pause = (...args) => (rejections() < 19 ? fastPause(...args) : pause(...args));
    const before = await rig.deliver({ clock });
    await eventually('19 rejections', async () => {
      const [row] = await rig.rows<{ refused: number }>(
        `select (progress ->> 'refused')::int as refused from service.webhook_progress`,
      );
      return row?.refused === 19;
    });
    await before.stop();
  };

  it('keeps the number of rejections of a record of a batch across processes', async () => {
    const webhook = await rig.endpoint(url, { batch: 8 });
    receiver.react = (received, response) =>
      answering(subjectsIn(received.body).includes('t') ? 422 : 200)(received, response, undefined!);
    await rig.block(['t', 'behind']);
    await rig.projecting.reached();
    await rejectedBefore(({ body }) => subjectsIn(body).join() === 't');
    await rig.deliver({ clock: new FastClock() });
    await waitForCursor(webhook, await rig.log.head());
    expect(receiver.received.map(({ body }) => subjectsIn(body).join())).toEqual([
      't,behind',
      ...Array<string>(20).fill('t'),
      'behind',
    ]);
  });

  it('keeps the number of rejections of a record across processes, but not for a changed record', async () => {
    const webhook = await rig.endpoint(url);
    receiver.react = answering(422);
    await rig.block(['t']);
    await rig.projecting.reached();
    await rejectedBefore(() => true);
    const asset = { type: 'URL', content: 'phishing.example' };
    const updatedAt = new Date(Date.parse(AT) + HOUR).toISOString();
    const changed = { organization: 'acme', threatId: 't', asset, status: 'ALLOWED', createdAt: AT, updatedAt };
    await rig.log.appendAll([stored(sent('ThreatStatusChanged', changed))]);
    await rig.projecting.reached();
    await rig.deliver({ clock: new FastClock() });
    await waitForCursor(webhook, await rig.log.head());
    expect(receiver.received).toHaveLength(19 + 20);
  });

  it('does not fail while the proxy of the operator refuses the password', async () => {
    const clock = new FastClock();
    const proxy = createServer((_, response) => void response.end());
    proxy.on('connect', (_, socket) => void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    await rig.endpoint(url);
    await rig.block(['t']);
    await rig.projecting.reached();
    const { port } = proxy.address() as AddressInfo;
    const { unsent, stop } = await rig.deliver({ clock, proxy: `http://u:secret@127.0.0.1:${port}` });
    await eventually('two attempts to send', () => unsent.length >= 2);
    expect(clock.pauses.slice(0, 2)).toEqual([60_000, 60_000]);
    expect(unsent[0]).toBe('the proxy answered with 407; correct the user name and the password in WEBHOOK_PROXY');
    const written = 'select from service.webhook_progress union all select from service.webhook_attempts';
    expect(await rig.rows(written)).toEqual([]);
    await stop();
    await new Promise((resolve) => proxy.close(resolve));
  });

  it('is not sent to and does not fail while its signing key is missing', async () => {
    const clock = new FastClock();
    const otherFile = join(rig.folder, 'other-keys');
    writeFileSync(otherFile, `${randomBytes(32).toString('base64')}\n`);
    const webhook = await rig.endpoint(url, { masterKey: new MasterKeys(otherFile).newest().id });
    await rig.block(['t']);
    await rig.projecting.reached();
    const { unsigned } = await rig.deliver({ clock });
    await eventually('two attempts to sign', () => unsigned.length >= 2);
    expect(clock.pauses.slice(0, 2)).toEqual([60_000, 60_000]);
    expect(unsigned[0]).toMatch(`webhook ${webhook.webhookId}: The master key ${webhook.masterKey}`);
    const written = 'select from service.webhook_progress union all select from service.webhook_attempts';
    expect(await rig.rows(written)).toEqual([]);
    const id = await rig.askForTest(webhook, Date.now());
    await eventually('the result of the test', async () => {
      const [row] = await rig.rows<{ result: object }>('select result from service.webhook_tests where id = $1', [id]);
      return row!.result !== null;
    });
    expect(await rig.rows(written)).toEqual([]);
    expect(receiver.received).toEqual([]);

    appendFileSync(rig.keyFile, readFileSync(otherFile));
    await waitForCursor(webhook, await rig.log.head());
    expect(receiver.subjects).toEqual(['t']);
    expect(await stateOf(webhook)).toMatchObject({ state: 'ACTIVE' });
  });

  it('receives the records after the new cursor again after a replay, with the same webhook-ids', async () => {
    const webhook = await rig.endpoint(url);
    await rig.deliver();
    await rig.block(named(5));
    await waitForRequests(5);
    const countBefore = receiver.received.length;
    await rig.appendWebhookEvent('WebhookReplayed', { ...webhook, replay: 1, startAfter: -1 });
    await waitForRequests(countBefore + 5);
    expect(receiver.subjects).toEqual([...named(5), ...named(5)]);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    expect(ids.slice(0, 5)).toEqual(ids.slice(5));
  });

  it('receives nothing once it is deleted, and its rows are removed', async () => {
    const webhook = await rig.endpoint(url);
    await rig.deliver();
    await rig.block(named(2));
    await waitForRequests(2);
    await rig.appendWebhookEvent('WebhookDeleted', { ...webhook, state: 'DELETED' });
    await rig.block(named(2, 2));
    await eventually('the endpoint is forgotten', async () => {
      const rows = await rig.rows(
        'select from service.webhook_progress union all select from service.webhook_attempts',
      );
      return rows.length === 0;
    });
    expect(receiver.subjects).toEqual(named(2));
  });

  it('receives nothing again after a rebuild of the read models', async () => {
    const webhook = await rig.endpoint(url);
    await rig.deliver();
    await rig.block(named(5));
    await waitForRequests(5);
    await waitForCursor(webhook, await rig.log.head());
    for (const name of ['register', 'webhooks'])
      await rebuild({ pool: rig.database.pool, log: rig.log }, [PROJECTIONS.find((one) => one.name === name)!]);
    await rig.block(named(1, 5));
    await waitForRequests(6);
    await rig.block(named(1, 6));
    await waitForCursor(webhook, await rig.log.head());
    expect(receiver.subjects).toEqual(named(7));
  });

  it('receives nothing again after the read models were dropped, even if their rebuild takes long', async () => {
    const [webhook, moved, deleted] = [
      await rig.endpoint(url),
      await rig.endpoint(`${url}/old`),
      await rig.endpoint(url),
    ];
    const before = await rig.deliver();
    await rig.block(named(3));
    await waitForRequests(9);
    await rig.appendWebhookEvent('WebhookDeleted', { ...deleted, state: 'DELETED' });
    await rig.appendWebhookEvent('WebhookReplayed', { ...moved, url: `${url}/new`, replay: 1 });
    await waitForRequests(12);
    await rig.block(named(2, 3));
    await waitForRequests(16);
    const end = await rig.log.head();
    for (const one of [webhook, moved]) await waitForCursor(one, end);
    const kept = () => rig.rows('select * from service.webhook_progress order by endpoint');
    await eventually('the deleted endpoint is forgotten', async () => (await kept()).length === 2);
    await before.stop();
    const sent = receiver.received.length;
    const cursors = await kept();
    expect(cursors).toHaveLength(2);

    await rig.dropReadModels();
    expect(await kept()).toEqual(cursors);
    const turn = await rig.deliver();
    await lookedAgain(turn);
    rig.project();
    await rig.projecting.reached();
    await lookedAgain(turn);
    expect(receiver.received).toHaveLength(sent);
    expect(await kept()).toEqual(cursors);
    await rig.block(named(1, 5));
    await waitForRequests(sent + 2);
    const last = await rig.log.head();
    for (const one of [webhook, moved]) await waitForCursor(one, last);
    expect(receiver.received.slice(sent).map(({ path, body }) => [path, ...subjectsIn(body)])).toEqual(
      expect.arrayContaining([
        ['/', 't5'],
        ['/new', 't5'],
      ]),
    );
    expect(receiver.received).toHaveLength(sent + 2);
  });

  it('receives nothing while the read model of the endpoints is behind the end of the log', async () => {
    const webhook = await rig.endpoint(url);
    await rig.block(named(2));
    await rig.appendWebhookEvent('WebhookDeleted', { ...webhook, state: 'DELETED' });
    await rig.projecting.stop();
    // The state that a rebuild leaves between two batches.
    await rig.rows(`update read.webhook_endpoints set state = 'ACTIVE'`);
    const [{ position }] = (await rig.rows<{ position: number }>(
      `update read.checkpoints set position = 1 where projection = 'webhooks' returning position`,
    )) as [{ position: number }];
    expect(position).toBe(1);
    const turn = await rig.deliver();
    await lookedAgain(turn);
    expect(receiver.received).toEqual([]);
    await turn.stop();
  });

  it('keeps its cursor while a rebuild has not reached it, and continues from there', async () => {
    const webhook = await rig.endpoint(url);
    const before = await rig.deliver();
    await rig.block(named(3));
    await waitForRequests(3);
    const end = await rig.log.head();
    await waitForCursor(webhook, end);
    await before.stop();
    await rig.projecting.stop();
    await rig.rows(`update read.checkpoints set position = 1 where projection = 'register'`);
    const reads = jest.spyOn(NEXT_ELEMENTS, 'run');
    await lookedAgain(await rig.deliver());
    expect(receiver.received).toHaveLength(3);
    // The delivery waits until the read model has passed the cursor.
    expect(reads.mock.calls.length).toBeLessThanOrEqual(2);
    reads.mockRestore();
    expect(await rig.rows('select progress from service.webhook_progress')).toMatchObject([
      { progress: { position: Number(end) } },
    ]);
  });

  it('continues from the end of a log that was restored to an earlier state', async () => {
    const webhook = await rig.endpoint(url);
    const before = await rig.deliver();
    await rig.block(named(1));
    await waitForRequests(1);
    await waitForCursor(webhook, await rig.log.head());
    await before.stop();
    await rig.rows(`
      update service.webhook_progress
      set progress = progress || jsonb_build_object('position', (progress ->> 'position')::bigint + 1000)`);
    // More cursors than two statements rewind.
    await rig.rows(`
      insert into service.webhook_progress (endpoint, progress)
      select p.endpoint || i, p.progress from service.webhook_progress p, generate_series(1, 2500) i`);
    await rig.deliver();
    await eventually('all cursors are set back', async () => {
      const rows = await rig.rows<{ position: number; n: number }>(
        `select (progress ->> 'position')::int as position, count(*)::int as n from service.webhook_progress group by 1`,
      );
      return rows.length === 1 && rows[0]!.n === 2_501 && rows[0]!.position === Number(await rig.log.head());
    });
    await rig.block(named(1, 1));
    await waitForRequests(2);
    expect(receiver.subjects).toEqual(named(2));
  });

  it('receives what follows the first parked event again, once, if version 2.2 has passed it', async () => {
    const webhook = await rig.endpoint(url);
    const before = await rig.deliver();
    await rig.block(named(3));
    await waitForRequests(3);
    await waitForCursor(webhook, await rig.log.head());
    await before.stop();
    const { rows } = await rig.database.pool.query(`select position from read.register where id = 't1'`);
    const passed = JSON.stringify({ parked: 7, parkedFrom: Number(rows[0].position) });
    await rig.rows(`update service.webhook_progress set progress = progress || '${passed}'`);
    const again = await rig.deliver();
    await waitForRequests(5);
    await waitForCursor(webhook, await rig.log.head());
    await again.stop();
    await lookedAgain(await rig.deliver());
    expect(receiver.subjects).toEqual([...named(3), 't1', 't2']);
  });

  describe.each([
    ['with the stored progress', { isRowKept: false, isInFlight: false }, ['u0', 'u1', 'u2']],
    ['while a delivery is in flight', { isRowKept: false, isInFlight: true }, ['u0', 'u1', 'u2']],
    ['without the stored progress', { isRowKept: true, isInFlight: false }, [...named(3), 'u0', 'u1', 'u2']],
  ])('whose last events the log loses %s', (_, { isRowKept, isInFlight }, due) => {
    it('receives the events that the log stored in their place, without a restart', async () => {
      const webhook = await rig.endpoint(url);
      const turn = await rig.deliver();
      await rig.block(named(3));
      await waitForRequests(3);
      await waitForCursor(webhook, await rig.log.head());
      const [{ progress: kept }] = (await rig.rows('select progress from service.webhook_progress')) as [
        { progress: StoredProgress },
      ];
      const [checkpoint] = await rig.rows(`select * from read.checkpoints where projection = 'register'`);
      let answer: (() => void) | undefined;
      receiver.react = (...all) => {
        if (isInFlight && receiver.received.length === 5) answer = () => answering(200)(...all);
        else answering(200)(...all);
      };
      await rig.block(named(2, 3));
      await waitForRequests(5);
      if (!isInFlight) await waitForCursor(webhook, await rig.log.head());
      await rig.projecting.stop();
      const progress = `update service.webhook_progress set progress = '${JSON.stringify(kept)}';`;
      await rig.database.pool.query(`
        delete from log.events where position > ${kept.position};
        delete from read.register where position > ${kept.position};
        delete from read.checkpoints where projection = 'register';
        insert into read.checkpoints
          select * from json_populate_record(null::read.checkpoints, '${JSON.stringify(checkpoint)}');
        ${isRowKept ? '' : progress}`);
      receiver.react = answering(200);
      answer?.();
      await rig.block(['u0', 'u1', 'u2']);
      const projecting = startProjecting(
        rig.log,
        rig.database.pool,
        PROJECTIONS.filter(({ name }) => name === 'register'),
      );
      try {
        await waitForRequests(5 + due.length);
        await waitForCursor(webhook, await rig.log.head());
        expect(receiver.subjects.slice(5)).toEqual(due);
        expect(turn.warnings).toEqual([
          expect.stringMatching(`no longer has the event [0-9a-f]{8}… at position ${kept.position + 2},`),
        ]);
      } finally {
        await projecting.stop();
      }
    });
  });
});

describe('A webhook test', () => {
  it('is sent immediately in any state of the endpoint, and its result is the response', async () => {
    const webhook = await rig.endpoint(url, { state: 'DISABLED' });
    receiver.react = answering(404, {}, 'no such\u0000 page');
    await rig.deliver();
    const id = await rig.askForTest(webhook, Date.now());
    await eventually('the result of the test', async () => {
      const [row] = await rig.rows<{ result: unknown }>('select result from service.webhook_tests where id = $1', [id]);
      return row!.result !== null;
    });
    const [row] = await rig.rows<{ result: object }>('select result from service.webhook_tests');
    expect(row!.result).toEqual({
      webhookId: receiver.received[0]!.headers['webhook-id'],
      status: 404,
      error: 'responded with 404',
      answer: 'no such\\u{0} page',
      took: expect.any(Number),
    });
    const { headers, body } = receiver.received[0]!;
    const element = new Verifier(rig.secretOf(webhook)).verify(body, headers as Record<string, string>);
    expect(element).toMatchObject({ type: 'threat-protection.webhook.test', data: { webhookId: webhook.webhookId } });
    await eventually('the attempt', async () => (await rig.rows('select from service.webhook_attempts')).length === 1);
    expect(await rig.rows('select attempt from service.webhook_attempts')).toMatchObject([
      { attempt: { isTest: true, records: 0 } },
    ]);
    expect(receiver.received).toHaveLength(1);
  });

  it('does not wait for a delivery that hangs', async () => {
    for (let n = 0; n < 8; n += 1) await rig.endpoint(`${url}/hangs`);
    const webhook = await rig.endpoint(`${url}/answers`, { state: 'DISABLED' });
    receiver.react = (one, ...rest) => one.path === '/answers' && answering(204)(one, ...rest);
    await rig.block(['t']);
    await rig.deliver();
    await waitForRequests(8);
    await rig.askForTest(webhook, Date.now());
    await waitForRequests(9);
    expect(receiver.received.at(-1)!.path).toBe('/answers');
    expect(await rig.rows(`select from service.webhook_attempts where attempt ->> 'isTest' = 'false'`)).toEqual([]);
  });

  it('leaves no rows behind if its endpoint is deleted before it ends', async () => {
    await rig.database.pool.query(`
      create sequence stored_attempts;
      create function count_attempt() returns trigger language plpgsql as
        $$ begin perform nextval('stored_attempts'); return null; end $$;
      create trigger count_attempt after insert on service.webhook_attempts for each row execute function count_attempt()`);
    const webhook = await rig.endpoint(url);
    await rig.block(['t']);
    await rig.deliver();
    await waitForRequests(1);
    await waitForCursor(webhook, await rig.log.head());
    let answer: (() => void) | undefined;
    receiver.react = (...all) => (answer = () => answering(204)(...all));
    await rig.askForTest(webhook, Date.now());
    await waitForRequests(2);
    await rig.appendWebhookEvent('WebhookDeleted', { ...webhook, state: 'DELETED' });
    const kept = () => rig.rows('select from service.webhook_progress union all select from service.webhook_attempts');
    await eventually('the endpoint is forgotten', async () => (await kept()).length === 0);
    answer!();
    await eventually('the attempt of the test is stored', async () => {
      const [row] = await rig.rows<{ last: number }>('select last_value::int as last from stored_attempts');
      return row!.last === 2;
    });
    await eventually('the attempt is forgotten too', async () => (await kept()).length === 0);
    expect(receiver.received).toHaveLength(2);
  });
});

describe('A process that has lost its lease', () => {
  it('stops and writes nothing more', async () => {
    const webhook = await rig.endpoint(url);
    const turn = await rig.deliver();
    await rig.block(named(1));
    await waitForRequests(1);
    await waitForCursor(webhook, await rig.log.head());
    const before = await rig.rows('select * from service.webhook_progress');
    receiver.react = (received, response) => {
      void rig
        .rows(
          `update read.projector_leases set owner = 'other', epoch = epoch + 1, expires_at = expires_at + 2900
          where lane = 'webhooks'`,
        )
        .then(() => answering(200)(received, response, undefined!));
    };
    await rig.block(named(3, 1));
    await waitForRequests(2);
    await turn.ended;
    expect(receiver.received).toHaveLength(2);
    expect(await rig.rows('select * from service.webhook_progress')).toEqual(before);
    await rig.rows('delete from read.projector_leases');
    receiver.react = answering(200);
    await rig.deliver();
    await waitForRequests(5);
    // Only the request that was in flight is repeated.
    expect(receiver.subjects).toEqual(['t0', 't1', 't1', 't2', 't3']);
  });
});
