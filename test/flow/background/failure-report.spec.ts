import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { KeyUses } from '../../../src/api-keys/key-uses.js';
import { AssetChecker } from '../../../src/asset-check/asset-checker.js';
import { reportFailures } from '../../../src/flow/background.js';
import { RejectionLog } from '../../../src/ingestion/outcomes/rejection-log.js';
import { UsageLog } from '../../../src/ingestion/outcomes/usage-log.js';
import { Readiness } from '../../../src/ops/readiness.js';
import { DailyQuota } from '../../../src/quotas/daily-quota.js';
import { WaitingRequests } from '../../../src/flow/concurrency-limit.js';
import { Checkpoints } from '../../../src/read-models/checkpoints.js';
import { FeedWatch } from '../../../src/records/feed/feed-watch.js';
import { readConfig } from '../../../src/runtime/config.js';

describe('A failure report', () => {
  afterEach(() => void jest.restoreAllMocks());

  it('writes one line per minute with the number of failures since the last line, and counts every failure', async () => {
    let now = 1_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const registry = new Registry();
    const lines: string[] = [];
    const report = reportFailures('write usage', registry, undefined, (line) => lines.push(line));
    expect(await registry.metrics()).toContain('threat_protection_background_failures_total{task="write usage"} 0\n');
    for (let n = 0; n < 10; n += 1) report.failed(new Error('The database is unavailable'));
    report.dropped(3);
    report.dropped(4);
    now += 60_000;
    report.failed('a word');
    report.dropped(5);
    expect(lines).toEqual([
      'Failed to write usage (1 since the last line): The database is unavailable',
      'Failed to write usage: 3 rows dropped since the last log line, because too many rows were waiting',
      'Failed to write usage (10 since the last line): a word',
      'Failed to write usage: 9 rows dropped since the last log line, because too many rows were waiting',
    ]);
    // Another task of the same process has its own counters.
    reportFailures('write key uses', registry);
    expect(await registry.metrics()).toMatch(
      /threat_protection_background_failures_total\{task="write usage"\} 11\n[^]*threat_protection_background_failures_total\{task="write key uses"\} 0\n[^]*threat_protection_background_dropped_rows_total\{task="write usage"\} 12\n/,
    );
  });
});

describe('A failure in the background', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.splice(0);
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: string) => void lines.push(line));
  });
  afterEach(() => void jest.restoreAllMocks());

  const unavailableQuery = () => Promise.reject(new Error('The database is unavailable'));
  const pool = { query: unavailableQuery, connect: unavailableQuery } as never;

  const FAILING: readonly (readonly [string, (registry: Registry) => Promise<unknown>])[] = [
    [
      'write usage',
      (registry) => {
        const usage = new UsageLog(pool, registry);
        usage.add('acme', 'stored' as never, 'ThreatDeleted', 1);
        return usage.beforeApplicationShutdown();
      },
    ],
    [
      'write rejected events',
      (registry) => {
        const rejections = new RejectionLog(pool, registry);
        rejections.add('acme', 'key', [
          {
            reason: 'invalid',
            type: 'other',
            count: 1,
            issues: [],
            event: { source: 'urn:a', type: 'other' },
          } as never,
        ]);
        return rejections.beforeApplicationShutdown();
      },
    ],
    [
      'write key uses',
      (registry) => {
        const uses = new KeyUses(pool, registry);
        uses.add('key');
        return uses.beforeApplicationShutdown();
      },
    ],
    [
      'count quotas',
      (registry) => {
        const quota = new DailyQuota(pool, readConfig({}), registry);
        quota.charge('acme', { events: 1, bytes: 1 });
        return quota.beforeApplicationShutdown();
      },
    ],
    [
      'poll for changes in the feed',
      (registry) => {
        const watch = new FeedWatch(pool, new Readiness(), new Checkpoints(pool), new WaitingRequests(), registry);
        const wanted = { organization: 'acme', kinds: [1], after: 10, reached: 10, asOf: 0 };
        return watch.wait(wanted, 20, new AbortController().signal);
      },
    ],
    [
      'query source partner',
      (registry) => {
        const of = {
          kind: 'own',
          statuses: {
            check: () => {
              throw new Error('The database is unavailable');
            },
          },
        };
        const checker = new AssetChecker([{ id: 'partner', mode: 'ENABLED', of } as never], 100, registry);
        return Promise.resolve(checker.check('evil.example', 'acme'));
      },
    ],
  ];

  it.each(FAILING)('is logged and counted: %s', async (task, fail) => {
    const registry = new Registry();
    await fail(registry);
    expect(
      lines.filter((line) => line.startsWith(`Failed to ${task}`) && line.includes('database is unavailable')),
    ).toHaveLength(1);
    const [, failures] = new RegExp(`threat_protection_background_failures_total\\{task="${task}"\\} (\\d+)`).exec(
      await registry.metrics(),
    )!;
    expect(Number(failures)).toBeGreaterThan(0);
  });
});
