import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { brandsAndFlags } from '../../projections/brands-and-flags.js';
import type { Scope } from '../../src/events/types/organizations.js';
import { dayOf, formatInstant, MS_PER_DAY } from '../../src/events/instant.js';
import { ADD_INGEST_USAGE } from '../../src/quotas/daily-quota.js';
import { sharedApp } from '../support/open-for-tests.js';
import { projectToHead } from '../support/projecting.js';
import { type Sent, sent, stored } from '../support/upstream.js';

const app = sharedApp({
  env: { RATE_LIMIT_PER_MINUTE: '100', INGEST_EVENTS_PER_DAY: '1000', INGEST_BYTES_PER_DAY: '0' },
});

const newOrganization = (): string => `org-${randomUUID().slice(0, 8)}`;

const ask = async (path: string, key: string) => {
  const { status, body } = await app.call(`/v2/organization${path}`, { key });
  return { status, body };
};

/** Stores events of upstream and waits until they are projected. */
const report = async (...events: readonly Sent[]): Promise<void> => {
  await app.log.appendAll(events.map(stored));
  await projectToHead(app.log, app.pool, [brandsAndFlags]);
};

const updatedAt = '2026-03-01T00:00:00Z';
const flag = (organization: string, name: string, enabled = true): Sent =>
  sent('FeatureFlagChanged', { organization, flag: name, enabled, updatedAt });
const brand = (organization: string, slug: string, name?: string): Sent =>
  sent('BrandRegistered', { organization, brand: slug, updatedAt, ...(name !== undefined && { name }) });

describe('GET /v2/organization', () => {
  it('returns the organization, scopes and expiry of the key', async () => {
    const organization = newOrganization();
    const expiresAt = Date.now() + 60_000;
    const key = await app.issueKey({ organization, scopes: ['read', 'ingest'], expiresAt });
    const { status, body } = await ask('', key);
    expect(status).toBe(200);
    expect(body).toEqual({
      slug: organization,
      key: {
        id: expect.stringMatching(/^key_/),
        scopes: ['read', 'ingest'],
        expiresAt: new Date(expiresAt).toISOString(),
      },
      flags: [],
      limits: expect.anything(),
    });
    expect(JSON.stringify(body)).not.toContain(key);
  });

  it.each(['read', 'write', 'ingest'] as const)('accepts a key with only the scope %s', async (scope: Scope) => {
    const organization = newOrganization();
    const { status, body } = await ask('', await app.issueKey({ organization, scopes: [scope] }));
    expect({ status, slug: body['slug'], scopes: body['key'].scopes }).toEqual({
      status: 200,
      slug: organization,
      scopes: [scope],
    });
  });

  it('returns 401 for a key without an organization', async () => {
    expect(await ask('', await app.issueKey({ scopes: ['ingest'] }))).toMatchObject({
      status: 401,
      body: { code: 'UNAUTHORIZED', message: 'API key with organization access required' },
    });
  });

  it('returns only the flags that are enabled for this organization', async () => {
    const [mine, theirs] = [newOrganization(), newOrganization()];
    await report(flag(mine, 'brands-metrics'), flag(mine, 'a-b'), flag(mine, 'off', false), flag(theirs, 'theirs'));
    expect((await ask('', await app.issueKey({ organization: mine }))).body['flags']).toEqual([
      'a-b',
      'brands-metrics',
    ]);
  });

  it('returns the number of requests left in the minute', async () => {
    const key = await app.issueKey({ organization: newOrganization() });
    const [first, second] = [await ask('', key), await ask('', key)].map(({ body }) => body['limits'].requests);
    expect(first).toEqual({ perMinute: 100, remaining: 99, resetSeconds: expect.any(Number) });
    expect(second.remaining).toBe(98);
  });

  it('returns the remaining daily quotas, and omits quotas without a limit', async () => {
    const organization = newOrganization();
    const key = await app.issueKey({ organization });
    const today = dayOf(Date.now());
    const ingest = async () => (await ask('', key)).body['limits'].ingest;
    const resetsAt = formatInstant((today + 1) * MS_PER_DAY);
    expect(await ingest()).toEqual({ events: { perDay: 1000, remaining: 1000 }, resetsAt });
    await ADD_INGEST_USAGE.runEach(app.pool, [{ organization, events: 400, bytes: 7 }], { day: today });
    expect((await ingest()).events).toEqual({ perDay: 1000, remaining: 600 });
    await ADD_INGEST_USAGE.runEach(app.pool, [{ organization, events: 700, bytes: 7 }], { day: today });
    expect((await ingest()).events).toEqual({ perDay: 1000, remaining: 0 });
  });
});

describe('GET /v2/organization/brands', () => {
  it('returns only the registered brands of this organization, and whether metrics are available', async () => {
    const [mine, theirs] = [newOrganization(), newOrganization()];
    await report(
      brand(mine, 'wallet', 'Acme Wallet'),
      brand(mine, 'bank'),
      brand(mine, 'gone'),
      sent('BrandRemoved', { organization: mine, brand: 'gone', updatedAt: '2026-03-02T00:00:00Z' }),
      brand(theirs, 'theirs'),
      flag(theirs, 'brands-metrics'),
    );
    const key = await app.issueKey({ organization: mine });
    const brands = (metricsAvailable: boolean) => ({
      status: 200,
      body: {
        brands: [
          { slug: 'bank', metricsAvailable },
          { slug: 'wallet', name: 'Acme Wallet', metricsAvailable },
        ],
        total: 2,
      },
    });
    expect(await ask('/brands', key)).toEqual(brands(false));
    await report(flag(mine, 'brands-metrics'));
    expect(await ask('/brands', key)).toEqual(brands(true));
  });

  it('returns an empty list for an organization without brands, and requires the scope read', async () => {
    const organization = newOrganization();
    expect(await ask('/brands', await app.issueKey({ organization }))).toEqual({
      status: 200,
      body: { brands: [], total: 0 },
    });
    expect((await ask('/brands', await app.issueKey({ organization, scopes: ['write'] }))).status).toBe(403);
  });
});
