import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from '../../../src/runtime/config.js';
import { eventually } from '../../support/eventually.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { type Program, startProgram } from '../../support/program.js';

interface Health {
  readonly status: string;
  readonly parts: Record<string, object>;
}

describe('A port for operators', () => {
  let database: TestDatabase;
  let service: Program;
  let url: string;
  let opsUrl: string;

  beforeAll(async () => {
    database = await createDatabase();
    service = startProgram('src/main.js', [], { env: { DATABASE_URL: database.url, PORT: '0', OPS_PORT: '0' } });
    [{ url, opsUrl }] = (await once(service.process, 'message')) as [{ url: string; opsUrl: string }];
    await eventually('it is ready', async () => (await fetch(`${url}/health/ready`)).ok);
  });
  afterAll(async () => {
    service?.process.kill('SIGKILL');
    await database?.drop();
  });

  const ready = async (from: string): Promise<Health> => (await (await fetch(`${from}/health/ready`)).json()) as Health;

  it('is a free port if set to 0, and is printed', () => {
    expect(opsUrl).not.toBe(url);
    expect(service.said()).toContain(`operators on ${opsUrl}`);
  });

  it('alone shows the details of health; the states are public', async () => {
    const [everybody, operators] = [await ready(url), await ready(opsUrl)];
    expect(Object.keys(everybody.parts)).toEqual(Object.keys(operators.parts));
    for (const part of Object.values(everybody.parts)) expect(Object.keys(part)).toEqual(['state']);
    expect(operators.parts['log']).toMatchObject({ state: 'ok', detail: { head: expect.any(String) } });
    expect((await fetch(`${opsUrl}/health/live`)).status).toBe(200);
  });

  it('is the projector’s too', async () => {
    const projector = startProgram('projections/main.js', [], { env: { DATABASE_URL: database.url, OPS_PORT: '0' } });
    try {
      const said = (): string | undefined => /for operators on (http:[^"]+)/.exec(projector.said())?.[1];
      await eventually('it says where', () => said() !== undefined);
      expect((await fetch(`${said()}/health/live`)).status).toBe(200);
    } finally {
      projector.process.kill('SIGKILL');
    }
  });

  it('alone serves Prometheus', async () => {
    for (const method of ['GET', 'POST']) expect((await fetch(`${url}/metrics`, { method })).status).toBe(404);
    expect(await (await fetch(`${url}/openapi.json`)).text()).not.toContain('"/metrics"');
    expect(await (await fetch(`${opsUrl}/metrics`)).text()).toContain('http_request_duration_seconds_bucket');
  });

  it('serves nothing else', async () => {
    for (const path of ['/', '/docs', '/openapi.json', '/v2/organization/metrics', '/v2/events']) {
      const response = await fetch(opsUrl + path, { method: 'POST', body: '{}' });
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('needs to be set together with its host', () => {
    expect(() => readConfig({ OPS_HOST: '127.0.0.1' })).toThrow(ConfigError);
    expect(readConfig({ OPS_PORT: '0' })).toMatchObject({ opsHost: '127.0.0.1', opsPort: 0 });
    expect(readConfig({}).opsPort).toBeUndefined();
  });

  it('still reports that the process is stopping when the other port accepts no more connections', async () => {
    const held = connect(Number(new URL(url).port), '127.0.0.1', () =>
      held.write('POST /v2/events HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n'),
    );
    held.on('error', () => {});
    await once(held, 'connect');
    const ended = service.stop();
    await eventually('the other is closed', () =>
      fetch(`${url}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    const response = await fetch(`${opsUrl}/health/ready`);
    expect([response.status, ((await response.json()) as Health).status]).toEqual([503, 'stopping']);
    held.destroy();
    expect(await ended).toBe(0);
  });
});
