import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { WorkerOps } from '../../../src/ops/worker.js';
import { createPool } from '../../../src/postgres/pool.js';
import { AddressInUse } from '../../../src/runtime/listen.js';
import { eventually } from '../../support/eventually.js';
import { createDatabase, NO_LIMITS, type TestDatabase } from '../../support/postgres.js';

let database: TestDatabase;
let log: EventLog;
let worker: WorkerOps;
let url: string;
const stop = new AbortController();
const logged: string[] = [];

const ask = async (path: string, method = 'GET'): Promise<[number, string]> => {
  const answer = await fetch(url + path, { method });
  return [answer.status, await answer.text()];
};

beforeAll(async () => {
  database = await createDatabase();
  log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  worker = new WorkerOps((sentence) => logged.push(sentence), stop.signal);
  await worker.listen('127.0.0.1', 0, 'PROJECTOR_OPS_PORT');
  url = logged[0]!.split(' ').at(-1)!;
});
afterAll(async () => {
  await worker?.close();
  await log?.close();
  await database?.drop();
});

describe('WorkerOps', () => {
  it('reports the process as live but not ready before its tables are migrated', async () => {
    expect(logged).toEqual([expect.stringMatching(/^Health and metrics for operators on http:\/\/127\.0\.0\.1:\d+$/)]);
    expect(await ask('/health/live')).toEqual([200, '{"status":"live"}']);
    expect(await ask('/health/ready')).toEqual([503, expect.stringContaining('"tables":{"state":"unavailable"')]);
  });

  it('reports the lanes of the process and the progress of the projections', async () => {
    worker.addStores(log, database.pool, 'projections', new Map([['register', 2]]));
    worker.lanes.heartbeat('counts', true);
    worker.lanes.heartbeat('records', false);
    const [status, report] = await ask('/health/ready');
    expect([status, JSON.parse(report)]).toMatchObject([
      200,
      { status: 'ready', parts: { lanes: { detail: { counts: 'working', records: 'standing by' } }, log: {} } },
    ]);
    const [, metrics] = await ask('/metrics');
    for (const line of [
      'threat_protection_projector_lane_leader{lane="counts"} 1',
      'threat_protection_projector_lane_leader{lane="records"} 0',
      'threat_protection_read_models_up 1',
    ])
      expect(metrics).toContain(`\n${line}\n`);
    expect(metrics).toContain('# TYPE threat_protection_projection_lag_seconds gauge');
    expect(metrics).toContain('nodejs_eventloop_lag_seconds');
  });

  it('reports a projection whose rows are of an earlier version as degraded, until they have been rebuilt', async () => {
    await database.pool.query(
      `insert into read.checkpoints (projection, log_id, position, as_of) values ('register', 'log', 0, 0)`,
    );
    for (const [version, status, isOutdated] of [
      [1, 'degraded', 1],
      [2, 'ready', 0],
      // A newer version of this service has rebuilt the rows.
      [3, 'ready', 0],
    ] as const) {
      await database.pool.query(
        'update read.checkpoints set version = $1, as_of = extract(epoch from clock_timestamp()) * 1000',
        [version],
      );
      expect(await ask('/health/ready')).toEqual([200, expect.stringContaining(`"status":"${status}"`)]);
      // Scrapes within a second share one result.
      const line = `\nthreat_protection_projection_outdated{projection="register"} ${isOutdated}\n`;
      await eventually('the metric is current', async () => (await ask('/metrics'))[1].includes(line));
    }
    await database.pool.query('delete from read.checkpoints');
  });

  it('reports a stuck lane as a failed liveness check, but not while the log is unavailable', async () => {
    const stuck = jest.spyOn(worker.lanes, 'stuck').mockReturnValue(['records']);
    expect(await ask('/health/live')).toEqual([503, '{"status":"stuck","lanes":["records"]}']);
    expect(await ask('/health/ready')).toEqual([200, expect.stringContaining('"status":"degraded"')]);
    const unavailable = jest.spyOn(log, 'head').mockRejectedValue(new Error('connect ECONNREFUSED'));
    expect(await ask('/health/live')).toEqual([200, '{"status":"live"}']);
    unavailable.mockRestore();
    stuck.mockRestore();
  });

  it('returns 404 for any other path and 405 for any other method', async () => {
    expect((await ask('/'))[0]).toBe(404);
    expect((await ask('/metrics', 'POST'))[0]).toBe(405);
    expect(await ask('/metrics', 'HEAD')).toEqual([200, '']);
    expect(await ask('/health/live?from=probe')).toEqual([200, '{"status":"live"}']);
  });

  it('returns 500 if a report fails, and logs the error', async () => {
    const failing = jest.spyOn(worker.lanes, 'stuck').mockImplementation(() => {
      throw new Error('no lanes');
    });
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect((await ask('/health/live'))[0]).toBe(500);
    expect(logged.mock.calls.join()).toContain('/health/live failed: Error: no lanes');
    logged.mockRestore();
    failing.mockRestore();
  });

  it('names the setting if the port is in use', async () => {
    const other = new WorkerOps(() => {}, stop.signal);
    const taken = other.listen('127.0.0.1', Number(new URL(url).port), 'DELIVERIES_OPS_PORT');
    await expect(taken).rejects.toThrow(AddressInUse);
    await expect(taken).rejects.toThrow('set DELIVERIES_OPS_PORT or OPS_HOST to another value');
    await other.close();
  });

  it('reports that it is stopping, and closes without waiting for open connections', async () => {
    stop.abort();
    expect(await ask('/health/ready')).toEqual([503, expect.stringContaining('"status":"stopping"')]);
    await worker.close();
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();
  });
});
