import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { rebuild } from '../../projections/engine/rebuild.js';
import { assetGroups } from '../../projections/asset-groups.js';
import { assetStatuses } from '../../projections/asset-statuses.js';
import { register } from '../../projections/register/projection.js';
import { hashOfKey, KEY_VERSION } from '../../src/assets/asset.js';
import { assetHash } from '../../src/assets/asset-key.js';
import { eventIdOf } from '../../src/events/streams.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse, CallOptions } from '../support/call.js';
import { URL_LINKS } from '../support/cases/url-links.js';
import { Rig } from '../support/delivery-rig.js';
import { eventually } from '../support/eventually.js';
import { Receiver } from '../support/receiver.js';
import { report, sendEvents, sent, type Sent, sentStatus, sentThreat, SOURCE, stored } from '../support/upstream.js';

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-02T12:00:00.000Z';

let rig: Rig;
let app: TestApp;
let upstream: string;
beforeAll(async () => {
  rig = await Rig.start();
  app = await startApp({ databaseUrl: rig.database.url });
  upstream = await app.issueKey({ scopes: ['ingest'] });
});
afterAll(async () => {
  await app.close();
  await rig.end();
});

const newCaller = async () => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await app.issueKey({ organization });
  const call = async (path: string, options: CallOptions = {}): Promise<any> =>
    (await app.call(path, { key, ...options })).body;
  const check = async (content: string): Promise<string> =>
    (await call('/v2/asset/check', { json: { content } })).status as string;
  return { organization, key, call, check };
};

const assetsOf = (items: readonly { readonly asset: object }[]): object[] => items.map(({ asset }) => asset);
const ASSETS = URL_LINKS.map(({ link }) => ({ type: 'URL', content: link }));

/** A threat for each link, with the number of the link as its id. */
const threatsOf = (organization: string): Sent[] =>
  ASSETS.map((asset, n) =>
    sentThreat(`t-${n}`, { organization, asset, status: 'BLOCKED', createdAt: AT, updatedAt: AT }),
  );
const statusesOf = (organization: string): Sent[] =>
  ASSETS.map((asset, n) =>
    sentStatus(`${organization}-${n}`, {
      asset,
      status: 'BLOCKED',
      brandReviews: [{ organization, brand: 'wallet' }],
      createdAt: AT,
    }),
  );

/** Waits until the sources have the statuses. */
const checked = (check: (content: string) => Promise<string>, content: string, status: string): Promise<void> =>
  eventually(`${content} is ${status}`, async () => (await check(content)) === status);

const warningsOf = ({ body }: ApiResponse): Map<number, string> =>
  new Map(
    (body.warnings as { index: number; issues: { message: string }[] }[]).map(({ index, issues }) => [
      index,
      issues.map(({ message }) => message).join('; '),
    ]),
  );

describe('Records of type URL that link to something on a host of many people', () => {
  it('have a warning of what was read', async () => {
    const { organization } = await newCaller();
    const events = [
      ...threatsOf(organization),
      sentThreat('plain', { organization, asset: { type: 'URL', content: 'https://evil.example/a' } }),
    ];
    const response = await sendEvents(app, upstream, events);
    const warnings = warningsOf(response);
    expect(warnings.get(0)).toBe(
      'data.asset.content is a link, which is read as the page docs.google.com/forms/d/e/EVIL; the event does not concern the host of the link',
    );
    const read = URL_LINKS.map(({ key }) =>
      key
        .replace(/^PAGE:/, 'page ')
        .replace(/^URL:/, 'host ')
        .replace(/^(TWITTER|TELEGRAM):/, '$1 profile ')
        .replace('IPFS:', 'IPFS content '),
    );
    for (const [n, text] of read.entries()) expect(warnings.get(n)).toContain(`read as the ${text}; `);
    expect(warnings.has(URL_LINKS.length)).toBe(false);
  });

  it('are threats of type URL in lists, the feed, TAXII and deliveries, and count as URLs', async () => {
    const { organization, key, call } = await newCaller();
    const receiver = new Receiver();
    await rig.endpoint(await receiver.start(), { organization, types: ['threat'], assetTypes: ['URL'] });
    const running = await rig.deliver();
    try {
      await report(app, upstream, threatsOf(organization));
      await rig.projecting.reached();
      const { items } = await call('/v2/organization/threats?assetType=URL&limit=100');
      expect(assetsOf(items)).toEqual(expect.arrayContaining(ASSETS));
      expect(items).toHaveLength(ASSETS.length);
      for (const [n, { link, other }] of URL_LINKS.entries()) {
        const ids = async (content: string): Promise<string[]> =>
          (await call(`/v2/organization/threats?content=${encodeURIComponent(content)}`)).items.map(
            ({ id }: { id: string }) => id,
          );
        expect({ link, ids: await ids(link) }).toEqual({ link, ids: [`t-${n}`] });
        expect({ other, ids: await ids(other) }).toEqual({ other, ids: [] });
      }
      await eventually('the feed', async () => Array.isArray(await call('/v2/organization/feed')));
      const feed = await call('/v2/organization/feed?types=threat');
      expect(assetsOf(feed.map(({ data }: { data: { asset: object } }) => data))).toEqual(ASSETS);
      await eventually('the deliveries', () => receiver.received.length === ASSETS.length);
      expect(assetsOf(receiver.received.map(({ body }) => JSON.parse(body).data))).toEqual(ASSETS);
      const { objects } = (
        await app.call('/taxii2/api/collections/threats/objects/?limit=100', {
          key,
          headers: { accept: 'application/taxii+json;version=2.1' },
        })
      ).body;
      expect(objects.map(({ pattern, labels }: Record<string, unknown>) => ({ pattern, labels }))).toEqual(
        URL_LINKS.map(({ pattern }) => ({ pattern: `[${pattern}]`, labels: ['URL', 'BLOCKED'] })),
      );
      const { metrics, blockedByType } = await call('/v2/organization/metrics');
      expect(metrics).toMatchObject({
        newThreats: ASSETS.length,
        domainThreats: ASSETS.length,
        twitterThreats: 0,
        otherThreats: 0,
      });
      expect(blockedByType).toEqual([{ type: 'URL', count: ASSETS.length }]);
    } finally {
      await running.stop();
      await receiver.stop();
    }
  });

  it('are members of a group under their own content, and are found and removed by a link to the same', async () => {
    const { organization, call } = await newCaller();
    const groups = '/v2/organization/asset-groups';
    await call(groups, { method: 'POST', json: { name: 'A' } });
    await report(
      app,
      upstream,
      ASSETS.map((asset) => sent('AssetGrouped', { organization, groupId: 1, asset, updatedAt: AT })),
    );
    await rig.projecting.reached();
    const members = async () =>
      (await call(`${groups}/1/assets?limit=100`)).assets as { type: string; content: string }[];
    const listed = (await members()).map(({ type, content }) => ({ type, content }));
    expect(listed).toHaveLength(ASSETS.length);
    expect(listed).toEqual(expect.arrayContaining(ASSETS));
    const remove = (contents: readonly string[]) =>
      call(`${groups}/1/assets/remove`, { method: 'POST', json: { contents } });
    const resultsOf = async (contents: readonly string[]): Promise<string[]> =>
      (await remove(contents)).results.map(({ result }: { result: string }) => result);
    expect(new Set(await resultsOf(URL_LINKS.map(({ other }) => other)))).toEqual(new Set(['unchanged']));
    expect(new Set(await resultsOf(URL_LINKS.map(({ link }) => link)))).toEqual(new Set(['removed']));
    expect(await members()).toEqual([]);
  });

  it('have statuses that block what the link names and can be disputed, and the verdicts are of type URL', async () => {
    const { organization, call, check } = await newCaller();
    await report(app, upstream, statusesOf(organization));
    await rig.projecting.reached();
    for (const { link } of URL_LINKS) await checked(check, link, 'BLOCKED');
    for (const { other } of URL_LINKS)
      expect({ other, status: await check(other) }).toEqual({ other, status: 'UNKNOWN' });
    for (const host of ['docs.google.com', 'x.com', 't.me', 'login.microsoftonline.com', 'www.google.com', 'ipfs.io'])
      expect({ host, status: await check(host) }).toEqual({ host, status: 'UNKNOWN' });
    const { items } = await call('/v2/organization/verdicts?assetType=URL&limit=100');
    expect(assetsOf(items)).toEqual(expect.arrayContaining(ASSETS));
    for (const { link, key } of URL_LINKS) {
      const { asset, status } = await call('/v2/asset/disputes', { json: { content: link } });
      expect({ link, status }).toEqual({ link, status: 'OPEN' });
      // A status of a host or of IPFS content is disputed as the page that was checked, whatever its type.
      if (/^(?:URL|IPFS):/.test(key)) continue;
      expect(`${asset.type}:${asset.content}`).toBe(key);
      const found = await call(`/v2/asset/disputes?content=${encodeURIComponent(link)}`);
      expect({ link, found: assetsOf(found.items) }).toEqual({ link, found: [asset] });
    }
    await report(
      app,
      upstream,
      ASSETS.map((asset, n) =>
        sentStatus(`${organization}-${n}-again`, { asset, status: 'UNKNOWN', createdAt: LATER }),
      ),
    );
    await rig.projecting.reached();
    for (const { link } of URL_LINKS) await checked(check, link, 'UNKNOWN');
  });
});

describe('A log that an earlier version wrote', () => {
  it('is read again after the upgrade, so that its records of type URL concern what their links name', async () => {
    const { organization, call, check } = await newCaller();
    const [link, other] = [
      'https://docs.google.com/forms/d/e/OLD/viewform',
      'https://docs.google.com/forms/d/e/GOOD/viewform',
    ] as const;
    const old = 'URL:docs.google.com';
    const asset = { type: 'URL', content: link };
    const before = [
      sentThreat('old', { organization, asset, status: 'BLOCKED', createdAt: AT, updatedAt: AT }),
      sentStatus(`${organization}-old`, { asset, status: 'BLOCKED', createdAt: AT }),
      sent('AssetGrouped', { organization, groupId: 1, asset, updatedAt: AT }),
    ].map((one) => {
      const { stream: current, event } = stored(one);
      const stream = current.replace(assetHash(asset), hashOfKey(old));
      const key = one.type === 'AssetStatusChanged' && { key: old };
      const assetKey = { version: KEY_VERSION - 1, hash: hashOfKey(old), ...key };
      const metadata = { ...(event.metadata as object), assetKey };
      return { stream, event: { ...event, id: eventIdOf(SOURCE, one.id, one.type, stream), metadata } };
    });
    await call('/v2/organization/asset-groups', { method: 'POST', json: { name: 'A' } });
    await rig.log.appendAll(before);
    await rig.projecting.reached();
    await rig.projecting.stop();
    for (const projection of [assetStatuses, assetGroups, register])
      await rebuild({ pool: rig.database.pool, log: rig.log }, [projection]);
    rig.project();
    await rig.projecting.reached();
    await checked(check, link, 'BLOCKED');
    for (const content of [other, 'docs.google.com']) expect(await check(content)).toBe('UNKNOWN');
    const threats = await call(`/v2/organization/threats?content=${encodeURIComponent(link)}`);
    expect(assetsOf(threats.items)).toEqual([asset]);
    const { results } = await call('/v2/organization/asset-groups/1/assets/remove', {
      method: 'POST',
      json: { contents: [link] },
    });
    expect(results).toMatchObject([{ result: 'removed' }]);
  });
});
