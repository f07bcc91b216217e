import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PROJECTIONS } from '../../projections/registry.js';
import { Prometheus } from '../../src/http/ops/prometheus.js';
import { ProjectionLags } from '../../src/ops/projection-lag.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { eventually } from '../support/eventually.js';
import { sent, stored } from '../support/upstream.js';

interface Health {
  readonly status: string;
  readonly parts: {
    readonly readModels: { readonly detail: { readonly projections: readonly Record<string, unknown>[] } };
  } & Record<string, { readonly state: string }>;
}

const app = sharedApp();
sharedProjecting(app);

const ready = async (): Promise<{ status: number; body: Health }> => {
  const response = await fetch(`${app.url}/health/ready`);
  return { status: response.status, body: (await response.json()) as Health };
};

/** Returns the samples of a metric: each value by its labels as text. */
const samples = async (name: string): Promise<Record<string, number>> => {
  const text = await (await fetch(`${app.url}/metrics`)).text();
  const found = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].filter(([, each]) => each === name);
  return Object.fromEntries(found.map(([, , labels = '', value]) => [labels, Number(value)]));
};

const caughtUp = async (): Promise<boolean> => {
  const lags = Object.values(await samples('threat_protection_projection_lag'));
  return lags.length === PROJECTIONS.length && lags.every((lag) => lag === 0);
};

beforeAll(async () => {
  await eventually('all projections have caught up', caughtUp);
});

const report = (reportId: string) =>
  stored(
    sent('ReportFiled', {
      organization: 'acme',
      reportId,
      createdAt: '2026-01-01T00:00:00Z',
      updatedAt: '2026-01-01T00:00:00Z',
    }),
  );

describe('The readiness check', () => {
  it('reports ready, with each part and the lag of each projection', async () => {
    const { status, body } = await ready();
    expect([status, body.status]).toEqual([200, 'ready']);
    expect(Object.keys(body.parts)).toEqual(expect.arrayContaining(['log', 'readModels', 'keys', 'lists']));
    const { projections } = body.parts.readModels.detail;
    expect(projections.map(({ projection }) => projection)).toEqual(PROJECTIONS.map(({ name }) => name).sort());
    for (const projection of projections)
      expect(projection).toMatchObject({
        position: expect.stringMatching(/^-?\d+$/),
        lag: 0,
        unit: expect.stringMatching(/^(events|bytes)$/),
        parked: 0,
      });
  });

  it('reports degraded while an event is parked, and the service still accepts requests', async () => {
    const { stream, event } = report('r-parked');
    await app.log.append(stream, 'any', [{ ...event, id: '00000000-0000-4000-8000-000000000001' }]);
    await eventually('the service is degraded', async () => (await ready()).body.status === 'degraded');
    const { status, body } = await ready();
    expect([status, body.status, body.parts.readModels]).toMatchObject([200, 'degraded', { state: 'degraded' }]);
    await eventually(
      'the metrics report the parked event',
      async () => (await samples('threat_protection_parked_events'))['projection="metrics"'] === 1,
    );
  });
});

describe('The Prometheus metrics', () => {
  it('count requests by route and status, never by path', async () => {
    const key = await app.issueKey({ organization: 'acme' });
    const headers = { 'x-api-key': key };
    for (const id of ['1', '2', 'secret'])
      await fetch(`${app.url}/v2/organization/asset-groups/${id}`, { method: 'DELETE', headers });
    await fetch(`${app.url}/v2/organization/metrics?brandSlug=`, { headers });
    await fetch(`${app.url}/v2/organization/metrics`);
    await fetch(`${app.url}/v2/unheard/of`);
    // Metrics are up to one second old.
    const last = 'method="any",route="none",status="404"';
    let counts: Record<string, number> = {};
    await eventually('the last request is counted', async () => {
      counts = await samples('threat_protection_http_request_duration_seconds_count');
      return last in counts;
    });
    expect(counts).toMatchObject({
      'method="DELETE",route="/v2/organization/asset-groups/:id",status="404"': 3,
      'method="GET",route="/v2/organization/metrics",status="400"': 1,
      'method="GET",route="/v2/organization/metrics",status="401"': 1,
      [last]: 1,
    });
    expect(Object.keys(counts).join()).not.toMatch(/secret|unheard/);
  });

  it('query the database once for concurrent scrapes', async () => {
    const scrape = jest.spyOn(app.app.get(Prometheus), 'scrape');
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    const read = jest.spyOn(app.app.get(ProjectionLags), 'read').mockImplementation(async () => {
      await released;
      return [];
    });
    await eventually('a scrape queries the database', () => {
      void samples('threat_protection_read_models_up');
      return read.mock.calls.length > 0;
    });
    const { length } = scrape.mock.calls;
    const scrapes = Array.from({ length: 50 }, () => samples('threat_protection_read_models_up'));
    await eventually('all scrapes have arrived', () => scrape.mock.calls.length >= length + 50);
    expect(read).toHaveBeenCalledTimes(1);
    release();
    await Promise.all(scrapes);
    read.mockRestore();
    scrape.mockRestore();
  });

  it('include the lag of each projection in positions and seconds', async () => {
    const metrics = 'projection="metrics"';
    let before: Record<string, number> = {};
    // The cached metrics may be one second old, and lack the projections.
    await eventually(
      'the projections are read',
      async () => metrics in (before = await samples('threat_protection_projection_position')),
    );
    await app.log.appendAll(Array.from({ length: 20 }, (_, i) => report(`r-${i}`)));
    await eventually(
      'the projection continues',
      async () => (await samples('threat_protection_projection_position'))[metrics]! > before[metrics]!,
    );
    await eventually('all projections have caught up', caughtUp);
    expect(await caughtUp()).toBe(true);
    const seconds = await samples('threat_protection_projection_lag_seconds');
    for (const { name } of PROJECTIONS) expect(seconds[`projection="${name}"`]).toBeLessThan(30);
    expect(await samples('threat_protection_read_models_up')).toEqual({ '': 1 });
  });

  it('all have the prefix threat_protection_, except default metrics', async () => {
    const text = await (await fetch(`${app.url}/metrics`)).text();
    const names = [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !/^(threat_protection|nodejs|process)_/.test(name))).toEqual([]);
  });

  it('include the state of pools, event loop and lists', async () => {
    const pool = await samples('threat_protection_database_pool_connections');
    expect(Object.keys(pool).sort()).toEqual(
      ['checkpoints', 'exports', 'metrics', 'records', 'requests', 'watch'].flatMap((name) =>
        ['busy', 'idle', 'waiting'].map((state) => `pool="${name}",state="${state}"`),
      ),
    );
    expect(await samples('nodejs_eventloop_lag_p99_seconds')).toEqual({ '': expect.any(Number) });
    expect(await (await fetch(`${app.url}/metrics`)).text()).toContain(
      '# TYPE threat_protection_asset_check_list_entries gauge',
    );
  });
});
