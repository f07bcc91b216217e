import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { AppModule } from '../../src/api/app.module.js';
import { ConfigError, readConfig } from '../../src/runtime/config.js';
import { createServer } from '../../src/http/server.js';
import { sharedApp } from '../support/open-for-tests.js';

const METRICS = '/v2/organization/metrics';

@Controller('v2/open')
class OpenController {
  @Get()
  get(): string {
    return 'anybody';
  }
}

@Module({})
class WithOpenRoute {}

describe('Access to a route', () => {
  const app = sharedApp();

  it('must be declared for every route under /v2, otherwise the service does not start', async () => {
    const module = {
      module: WithOpenRoute,
      imports: [AppModule.with(app.config)],
      controllers: [OpenController],
    };
    const open = await NestFactory.create(module, createServer(app.config), {
      logger: false,
      bodyParser: false,
      abortOnError: false,
    });
    await expect(open.init()).rejects.toThrow('GET /v2/open has no @Access');
    await open.close();
  });

  it('is checked for HEAD as for GET', async () => {
    const key = await app.issueKey({ organization: 'acme' });
    const head = (headers: Record<string, string>): Promise<Response> =>
      fetch(app.url + METRICS, { method: 'HEAD', headers });
    expect((await head({})).status).toBe(401);
    expect((await head({ 'x-api-key': key })).status).toBe(200);
  });

  it('is not checked for health checks, Prometheus metrics and the API reference', async () => {
    for (const path of [
      '/health/live',
      '/health/ready',
      '/metrics',
      '/openapi.json',
      '/docs',
      '/schemas',
      '/asyncapi.json',
    ])
      expect([path, (await fetch(app.url + path)).status]).toEqual([path, 200]);
  });

  it('is granted for a key header in any case', async () => {
    const key = await app.issueKey({ organization: 'acme' });
    for (const name of ['X-API-KEY', 'x-api-key', 'X-Api-Key'])
      expect((await fetch(app.url + METRICS, { headers: { [name]: ` ${key} ` } })).status).toBe(200);
  });
});

describe('Trusted proxies', () => {
  const create = (TRUST_PROXY: string): unknown => createServer(readConfig({ TRUST_PROXY }));

  it('are addresses and networks; any other value prevents startup, and the error names the value', () => {
    for (const good of ['', '10.0.0.1', '10.0.0.0/8, 192.168.1.1', '::1', 'fd00::/8'])
      expect(() => create(good)).not.toThrow();
    for (const odd of ['proxy.example', '10.0.0.0/33', '10.0.0', '1'])
      expect(() => create(odd)).toThrow(
        new ConfigError(`TRUST_PROXY contains "${odd}"; each entry must be an IP address or a network (10.0.0.0/8)`),
      );
  });
});
