import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ConfigError, readConfig } from '../../src/config.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

const MAIN = join(import.meta.dirname, '../../dist/src/main.js');

// A process has to start.
jest.setTimeout(120_000);

interface Health {
  readonly status: string;
  readonly parts: Record<string, object>;
}

describe('A port for operators', () => {
  let database: TestDatabase;
  let service: ChildProcess;
  let url: string;
  let opsUrl: string;
  let said = '';

  beforeAll(async () => {
    database = await createDatabase();
    service = spawn(process.execPath, [MAIN], {
      env: { ...process.env, DATABASE_URL: database.url, PORT: '0', OPS_PORT: '0', LOG_FORMAT: 'json' },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    service.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
    [{ url, opsUrl }] = (await once(service, 'message')) as [{ url: string; opsUrl: string }];
    await eventually('it is ready', async () => (await fetch(`${url}/health/ready`)).ok);
  });
  afterAll(async () => {
    if (service?.exitCode === null) service.kill('SIGKILL');
    await database?.drop();
  });

  const ready = async (from: string): Promise<Health> => (await (await fetch(`${from}/health/ready`)).json()) as Health;

  it('is a free one at 0, and printed', () => {
    expect(opsUrl).not.toBe(url);
    expect(said).toContain(`operators on ${opsUrl}`);
  });

  it('alone gives the details of health, and everybody learns the states', async () => {
    const [everybody, operators] = [await ready(url), await ready(opsUrl)];
    expect(Object.keys(everybody.parts)).toEqual(Object.keys(operators.parts));
    for (const part of Object.values(everybody.parts)) expect(Object.keys(part)).toEqual(['state']);
    expect(operators.parts['log']).toMatchObject({ state: 'ok', detail: { head: expect.any(String) } });
    expect((await fetch(`${opsUrl}/health/live`)).status).toBe(200);
  });

  it('alone answers Prometheus', async () => {
    for (const method of ['GET', 'POST']) expect((await fetch(`${url}/metrics`, { method })).status).toBe(404);
    expect(await (await fetch(`${url}/openapi.json`)).text()).not.toContain('"/metrics"');
    expect(await (await fetch(`${opsUrl}/metrics`)).text()).toContain('http_request_duration_seconds_bucket');
  });

  it('gives nothing else', async () => {
    for (const path of ['/', '/docs', '/openapi.json', '/v2/organization/metrics', '/v2/events']) {
      const response = await fetch(opsUrl + path, { method: 'POST', body: '{}' });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'NOT_FOUND' });
      expect(response.headers.get('x-request-id')).toMatch(/./);
    }
  });

  it('needs to be set together with its host', () => {
    expect(() => readConfig({ OPS_HOST: '127.0.0.1' })).toThrow(ConfigError);
    expect(readConfig({ OPS_PORT: '0' })).toMatchObject({ opsHost: '127.0.0.1', opsPort: 0 });
    expect(readConfig({}).opsPort).toBeUndefined();
  });

  it('says that the process is stopping after the other takes no more connections', async () => {
    const held = connect(Number(new URL(url).port), '127.0.0.1', () =>
      held.write('POST /v2/events HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n'),
    );
    held.on('error', () => {});
    await once(held, 'connect');
    const ended = once(service, 'exit');
    service.kill('SIGTERM');
    await eventually('the other is closed', () =>
      fetch(`${url}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    const response = await fetch(`${opsUrl}/health/ready`);
    expect([response.status, ((await response.json()) as Health).status]).toEqual([503, 'stopping']);
    held.destroy();
    expect(await ended).toEqual([0, null]);
  });
});
