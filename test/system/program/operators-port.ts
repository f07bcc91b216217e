import { beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, readConfig } from '../../../src/runtime/config.js';
import { eventually } from '../../support/eventually.js';

export interface Health {
  readonly status: string;
  readonly parts: Record<string, object>;
}

export interface Urls {
  readonly url: string;
  readonly opsUrl: string;
  readonly projectorUrl: string;
}

/** @param urls the URLs of a service that runs with `OPS_PORT=0` and `PROJECTOR_OPS_PORT=0` */
export const operatorsPort = (urls: () => Urls) =>
  describe('A port for operators', () => {
    let url: string;
    let opsUrl: string;
    let projectorUrl: string;
    beforeAll(async () => {
      ({ url, opsUrl, projectorUrl } = urls());
      await eventually('the service is ready', async () => (await fetch(`${url}/health/ready`)).ok);
    });

    const ready = async (from: string): Promise<Health> =>
      (await (await fetch(`${from}/health/ready`)).json()) as Health;

    it('is a free port of each process if set to 0, and is printed', () => {
      expect(new Set([url, opsUrl, projectorUrl]).size).toBe(3);
    });

    it('is the only port with the details of the health report; the states are public', async () => {
      const [publicHealth, operatorsHealth] = [await ready(url), await ready(opsUrl)];
      expect(Object.keys(publicHealth.parts)).toEqual(Object.keys(operatorsHealth.parts));
      for (const part of Object.values(publicHealth.parts)) expect(Object.keys(part)).toEqual(['state']);
      expect(operatorsHealth.parts['log']).toMatchObject({ state: 'ok', detail: { head: expect.any(String) } });
      expect((await fetch(`${opsUrl}/health/live`)).status).toBe(200);
    });

    it('also exists for the projector', async () => {
      expect((await fetch(`${projectorUrl}/health/live`)).status).toBe(200);
    });

    it('is the only port that serves Prometheus metrics', async () => {
      for (const method of ['GET', 'POST']) expect((await fetch(`${url}/metrics`, { method })).status).toBe(404);
      expect(await (await fetch(`${url}/openapi.json`)).text()).not.toContain('"/metrics"');
      expect(await (await fetch(`${opsUrl}/metrics`)).text()).toContain(
        'threat_protection_http_request_duration_seconds_bucket',
      );
    });

    it('serves nothing else', async () => {
      for (const path of ['/', '/docs', '/openapi.json', '/v2/organization/metrics', '/v2/events']) {
        const response = await fetch(opsUrl + path, { method: 'POST', body: '{}' });
        expect([path, response.status]).toEqual([path, 404]);
        expect(await response.json()).toMatchObject({ code: 'NOT_FOUND' });
      }
    });

    it('must be set together with its host', () => {
      expect(() => readConfig({ OPS_HOST: '127.0.0.1' })).toThrow(ConfigError);
      expect(readConfig({ OPS_PORT: '0' })).toMatchObject({ opsHost: '127.0.0.1', opsPort: 0 });
      expect(readConfig({}).opsPort).toBeUndefined();
    });
  });
