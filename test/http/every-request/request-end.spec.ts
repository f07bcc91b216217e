import type { Server } from 'node:http';
import { Logger } from '@nestjs/common';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sharedApp } from '../../support/open-for-tests.js';
import { eventually } from '../../support/eventually.js';
import { converse } from '../../support/raw.js';
import { holdQuery } from '../held-query.js';

const GROUPS = '/v2/organization/asset-groups';

const app = sharedApp();
let key: string;
const logged: string[] = [];
beforeAll(async () => {
  // errors.spec.ts tests the real values.
  Object.assign(app.app.getHttpServer() as Server, { headersTimeout: 1_000, requestTimeout: 1_000 });
  key = await app.issueKey({ organization: 'acme' });
});
beforeEach(() => {
  logged.length = 0;
  jest.spyOn(Logger.prototype, 'log').mockImplementation((line) => void logged.push(String(line)));
});
afterEach(() => void jest.restoreAllMocks());

const send = (line: string, rest = '') =>
  converse(app.url, `${line} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nX-Request-Id: mine-1\r\n${rest}\r\n`);

const counted = async (status: number): Promise<boolean> =>
  new RegExp(`^threat_protection_http_request_duration_seconds_count\\{.*status="${status}"\\} 1$`, 'm').test(
    await (await fetch(`${app.url}/metrics`)).text(),
  );

describe('A request that ends without a complete response', () => {
  it('is logged and counted as 499 if the client closed the connection', async () => {
    const { started, release } = holdQuery();
    const { socket } = send('GET /v2/organization/metrics?secret=1');
    await started;
    socket.destroy();
    await eventually('the request is logged', () => logged.length > 0);
    expect(logged).toEqual([
      'GET "/v2/organization/metrics" ended 499, request mine-1: the client closed the connection before the response',
    ]);
    await eventually('the request is counted', () => counted(499));
    release();
  });

  it('is logged and counted as 408, with the request id of the response, if its body did not arrive in time', async () => {
    const { heard } = send(`POST ${GROUPS}`, 'Content-Type: application/json\r\nContent-Length: 50\r\n');
    await eventually('the request is answered', () => heard.answer !== '');
    expect(heard.answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(heard.answer).toMatch(/\r\nX-Request-Id: mine-1\r\n/i);
    await eventually('the request is logged', () => logged.length > 0);
    expect(logged).toEqual([`POST "${GROUPS}" ended 408, request mine-1: its body did not arrive in time`]);
    await eventually('the request is counted', () => counted(408));
  });

  it('does not include a request with a complete response', async () => {
    for (const path of [GROUPS, '/docs', '/nothing'])
      await (await fetch(app.url + path, { headers: { 'x-api-key': key, connection: 'close' } })).text();
    await fetch(app.url + GROUPS, { method: 'POST', body: '{}' });
    expect(logged).toEqual([]);
  });
});
