import type { Socket } from 'node:net';
import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { readConfig } from '../../../src/runtime/config.js';
import { AccessLog, AccessLogOutput } from '../../../src/http/ops/access-log.js';
import { sharedApp } from '../../support/open-for-tests.js';
import { eventually } from '../../support/eventually.js';
import { converse } from '../../support/raw.js';
import { holdQuery } from '../held-query.js';

const GROUPS = '/v2/organization/asset-groups';
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';

const app = sharedApp({ env: { ACCESS_LOG: 'on', RATE_LIMIT_PER_MINUTE: '50' } });
let key: string;
let text = '';
const lines = (): Record<string, unknown>[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const line = async (): Promise<Record<string, unknown>> => {
  await eventually('the request is logged', () => text !== '');
  expect(lines()).toHaveLength(1);
  return lines()[0]!;
};
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme' });
  jest.spyOn(app.app.get(AccessLogOutput), 'write').mockImplementation((more) => {
    text += more;
    return true;
  });
});
beforeEach(() => void (text = ''));

const raw = (words: string): Socket => converse(app.url, words).socket;

describe('The access log', () => {
  it('has one line per request, with the organization of its key and its trace id', async () => {
    const answer = await fetch(`${app.url}${GROUPS}/7?x-api-key=secret`, {
      method: 'DELETE',
      headers: { 'x-api-key': key, 'x-request-id': 'mine-1', traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` },
    });
    const bytes = (await answer.arrayBuffer()).byteLength;
    const logged = await line();
    expect(logged).toEqual({
      level: 'info',
      context: 'access',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      requestId: 'mine-1',
      method: 'DELETE',
      route: `${GROUPS}/:id`,
      status: 404,
      ms: expect.any(Number),
      bytes,
      keyId: expect.stringMatching(/^key_/),
      organization: 'acme',
      traceId: TRACE_ID,
    });
    expect(text).not.toContain('secret');
    expect(text).not.toContain(key);
  });

  it('names the key of a request that was rejected for a missing scope', async () => {
    await fetch(`${app.url}/v2/events`, { method: 'POST', headers: { 'x-api-key': key } });
    expect(await line()).toMatchObject({ status: 403, organization: 'acme' });
  });

  it('names no key if the key is invalid, and no trace if the traceparent is invalid', async () => {
    await fetch(app.url + GROUPS, { headers: { 'x-api-key': 'tp_wrong', traceparent: `00-${TRACE_ID}-0-01"` } });
    expect(await line()).toMatchObject({ status: 401, keyId: null, organization: null, traceId: null });
    expect(text).not.toContain('tp_wrong');
  });

  it('includes ambiguous requests', async () => {
    raw('GET /v2/organization/metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
    expect(await line()).toMatchObject({ route: 'none', method: 'GET', status: 400 });
  });

  it('includes requests for unknown routes, without the path', async () => {
    await (await fetch(`${app.url}/what%0Aever/secret?key=secret`)).text();
    expect(await line()).toMatchObject({ route: 'none', method: 'GET', status: 404 });
    expect(text).not.toMatch(/secret|what/);
  });

  it.each([
    ['cannot be parsed', 'GET / HTTP/1.1\r\nbad header\r\n\r\n'],
    ['has an invalid percent escape', 'GET /%ZZ HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('includes a request that %s', async (_, words) => {
    const socket = raw(words);
    expect(await line()).toMatchObject({ route: 'none', status: 400 });
    socket.destroy();
  });

  it('logs a request as 499 if the client closed the connection', async () => {
    const { started, release } = holdQuery();
    const socket = raw(`GET /v2/organization/metrics HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\n\r\n`);
    await started;
    socket.destroy();
    expect(await line()).toMatchObject({ route: '/v2/organization/metrics', status: 499, bytes: 0 });
    release();
  });
});

describe('The lines of the access log', () => {
  const logTo = (write: (text: string) => boolean, env = {}): { log: AccessLog; registry: Registry } => {
    const registry = new Registry();
    return { log: new AccessLog(readConfig(env), { write }, registry), registry };
  };

  it('are written in batches, and flushed when the process stops', () => {
    const written: string[] = [];
    const { log } = logTo((more) => written.push(more) > 0);
    for (let n = 0; n < 3; n++) log.addUnparsed(400, 'a');
    expect(written).toEqual([]);
    log.onApplicationShutdown();
    expect(written.map((more) => more.split('\n').length - 1)).toEqual([3]);
  });

  it('never take more than 64 KiB of memory while they wait', () => {
    let longest = 0;
    const { log } = logTo((more) => (longest = Math.max(longest, more.length)) > 0);
    for (let n = 0; n < 1_000; n++) log.addUnparsed(400, 'a'.repeat(128));
    expect(longest).toBeGreaterThan(60 * 1024);
    expect(longest).toBeLessThan(65 * 1024);
    log.onApplicationShutdown();
  });

  it('are dropped and counted if standard output is not read', async () => {
    const { log, registry } = logTo(() => false);
    for (let n = 0; n < 3; n++) log.addUnparsed(400, 'a');
    log.onApplicationShutdown();
    expect(await registry.metrics()).toMatch(/^threat_protection_access_log_dropped_lines_total 3$/m);
  });

  it('are not written if ACCESS_LOG is off', () => {
    const written: string[] = [];
    const { log } = logTo((more) => written.push(more) > 0, { ACCESS_LOG: 'off' });
    log.addUnparsed(400, 'a');
    log.onApplicationShutdown();
    expect(written).toEqual([]);
    expect(() => readConfig({ ACCESS_LOG: 'no' })).toThrow('ACCESS_LOG is "no"; it must be on or off');
  });
});
