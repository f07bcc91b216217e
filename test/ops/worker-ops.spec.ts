import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { EventLog } from '../../src/event-log/event-log.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { WorkerOps } from '../../src/ops/worker-ops.js';
import { createPool } from '../../src/postgres/pool.js';
import { AddressInUse } from '../../src/runtime/listen.js';
import { createDatabase, NO_LIMITS, type TestDatabase } from '../support/postgres.js';

let database: TestDatabase;
let log: EventLog;
let worker: WorkerOps;
let url: string;
const asked = new AbortController();
const told: string[] = [];

const ask = async (path: string, method = 'GET'): Promise<[number, string]> => {
  const answer = await fetch(url + path, { method });
  return [answer.status, await answer.text()];
};

beforeAll(async () => {
  database = await createDatabase();
  log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  worker = new WorkerOps((sentence) => told.push(sentence), asked.signal);
  await worker.listen('127.0.0.1', 0, 'PROJECTOR_OPS_PORT');
  url = told[0]!.split(' ').at(-1)!;
});
afterAll(async () => {
  await worker?.close();
  await log?.close();
  await database?.drop();
});

describe('A worker', () => {
  it('lives before its tables are ready, and is not ready', async () => {
    expect(told).toEqual([expect.stringMatching(/^Health and metrics for operators on http:\/\/127\.0\.0\.1:\d+$/)]);
    expect(await ask('/health/live')).toEqual([200, '{"status":"live"}']);
    expect(await ask('/health/ready')).toEqual([503, expect.stringContaining('"tables":{"state":"unavailable"')]);
  });

  it('says which lanes it works, and how far the projections are', async () => {
    worker.begin(log, database.pool, 'projections');
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

  it('does not live where a loop stands although the stores answer; an outage is no reason to start it again', async () => {
    const stuck = jest.spyOn(worker.lanes, 'stuck').mockReturnValue(['records']);
    expect(await ask('/health/live')).toEqual([503, '{"status":"stuck","lanes":["records"]}']);
    expect(await ask('/health/ready')).toEqual([200, expect.stringContaining('"status":"degraded"')]);
    const away = jest.spyOn(log, 'head').mockRejectedValue(new Error('connect ECONNREFUSED'));
    expect(await ask('/health/live')).toEqual([200, '{"status":"live"}']);
    away.mockRestore();
    stuck.mockRestore();
  });

  it('answers nothing else', async () => {
    expect((await ask('/'))[0]).toBe(404);
    expect((await ask('/metrics', 'POST'))[0]).toBe(405);
    expect(await ask('/metrics', 'HEAD')).toEqual([200, '']);
    expect(await ask('/health/live?from=probe')).toEqual([200, '{"status":"live"}']);
  });

  it('answers 500 if a report fails, and logs why', async () => {
    const failing = jest.spyOn(worker.lanes, 'stuck').mockImplementation(() => {
      throw new Error('no lanes');
    });
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect((await ask('/health/live'))[0]).toBe(500);
    expect(logged.mock.calls.join()).toContain('/health/live failed: Error: no lanes');
    logged.mockRestore();
    failing.mockRestore();
  });

  it('names the setting where the port is taken', async () => {
    const other = new WorkerOps(() => {}, asked.signal);
    const taken = other.listen('127.0.0.1', Number(new URL(url).port), 'DELIVERIES_OPS_PORT');
    await expect(taken).rejects.toThrow(AddressInUse);
    await expect(taken).rejects.toThrow('DELIVERIES_OPS_PORT and OPS_HOST can set another place');
    await other.close();
  });

  it('says that it is stopping, and does not wait for those who keep a connection', async () => {
    asked.abort();
    expect(await ask('/health/ready')).toEqual([503, expect.stringContaining('"status":"stopping"')]);
    await worker.close();
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();
  });
});
