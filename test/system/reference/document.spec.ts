import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from '../../../src/api/app.module.js';
import { readConfig } from '../../../src/runtime/config.js';
import { ERROR_CODES } from '../../../src/http/errors/error-body.dto.js';
import { serveOpenApi } from '../../../src/http/reference/docs.js';
import { createServer } from '../../../src/http/server.js';
import { type Declared, type DeclaredOperation, readReference } from '../../support/contract.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';

/**
 * Routes without an operation: the reference itself, and the handshake, which the CloudEvents specification defines.
 */
const NO_OPERATION = /^(?:GET \/(?:docs|openapi\.json|asyncapi\.json|schemas)\b.*|OPTIONS \/v2\/events)$/;

const reference = readReference();
const operations = Object.entries(reference.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): [string, DeclaredOperation] => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
);
const underV2 = operations.filter(([name]) => name.includes(' /v2/'));

const routes: string[] = [];
let database: TestDatabase;
let app: NestFastifyApplication;

beforeAll(async () => {
  database = await createDatabase();
  const config = readConfig({ DATABASE_URL: database.url, ACCESS_LOG: 'off' });
  const server = createServer(config);
  server.getInstance().addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) if (each !== 'HEAD') routes.push(`${each} ${url}`);
  });
  app = await NestFactory.create<NestFastifyApplication>(AppModule.with(config), server, {
    logger: false,
    bodyParser: false,
  });
  serveOpenApi(app);
  await app.init();
});
afterAll(async () => {
  await app?.close();
  await database?.drop();
});

describe('The API reference', () => {
  it('has an operation for every route, and no other operations', () => {
    const expected = routes
      .filter((route) => !NO_OPERATION.test(route))
      .map((route) => route.replace(/:(\w+)/g, '{$1}'));
    expect(operations.map(([name]) => name).sort()).toEqual(expected.sort());
  });

  it('gives each operation a unique id that consists of a verb and an object', () => {
    const ids = operations.map(([, { operationId }]) => operationId!);
    expect(
      ids.filter(
        (id) =>
          !/^(?:get|list|check|create|rename|delete|send|assign|unassign|move|compare|change|rotate|test|replay|file)[A-Z][A-Za-z]+$/.test(
            id,
          ),
      ),
    ).toEqual([]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ['getMetrics', 'checkAsset', 'createAssetGroup', 'sendEvents']) expect(ids).toContain(id);
  });

  it('assigns each operation to one group, and describes groups and operations', () => {
    const groups = reference.tags.map(({ name }) => name);
    for (const { name, description } of reference.tags)
      expect([name, description]).toEqual([name, expect.stringMatching(/\w+ \w+/)]);
    for (const [name, { tags, summary }] of operations) {
      expect([name, tags]).toEqual([name, [expect.any(String)]]);
      expect(groups).toContain(tags![0]);
      expect([name, summary]).toEqual([name, expect.stringMatching(/\w+ \w+/)]);
    }
    expect(operations.map(([, { tags }]) => groups.indexOf(tags![0]!))).toEqual(
      operations.map(([, { tags }]) => groups.indexOf(tags![0]!)).sort((a, b) => a - b),
    );
  });

  it('requires a key on each route under /v2 and /taxii2, and on no other route, and declares the errors of each route', () => {
    expect(reference.servers).toEqual([{ url: '/' }]);
    expect(reference.components.securitySchemes).toMatchObject({
      key: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
    });
    for (const [name, { security, responses, requestBody }] of operations) {
      const isKeyed = / \/(?:v2|taxii2)(?:\/|$)/.test(name);
      expect([name, security]).toEqual([name, isKeyed ? [{ key: [] }] : []]);
      const expected = isKeyed
        ? ['400', '401', '414', '429', '500', '503', ...(requestBody ? ['413', '415'] : [])]
        : ['400'];
      expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(expected)]);
    }
  });

  it('declares the flat body for each error of the interface', () => {
    const declared = [...underV2.map(([, { responses }]) => responses), reference.components.responses];
    for (const responses of declared)
      for (const [status, response] of Object.entries(responses) as [string, Declared & { $ref?: string }][]) {
        if (response.$ref !== undefined || status < '400') continue;
        const schema = response.content?.['application/json']?.schema;
        expect([status, schema]).toEqual([status, { $ref: '#/components/schemas/ErrorBody' }]);
      }
  });

  it('says the causes of an error once, and shows one of them in the example', () => {
    for (const [name, { responses }] of underV2)
      for (const [status, { description = '', content = {} }] of Object.entries(responses)) {
        const sentences = description.split(/(?<=\.)\s+/);
        expect([name, status, sentences]).toEqual([name, status, [...new Set(sentences)]]);
        const { message } = (content['application/json']?.example ?? {}) as { message?: string };
        expect([name, status, message]).toEqual([name, status, message?.replaceAll('\n', ' ')]);
      }
  });

  it('states that each process counts the requests of a key separately', () => {
    const { headers } = reference.components as unknown as { headers: Record<string, { description: string }> };
    expect(headers['RateLimit-Limit']!.description).toContain('in each process of the API');
    expect(headers['RateLimit-Remaining']!.description).toContain('in the process that sent this response');
  });

  it('explains each error code once', () => {
    const { description } = (reference as unknown as { info: { description: string } }).info;
    for (const [status, code] of Object.entries(ERROR_CODES))
      expect(description.split('\n').filter((line) => line.startsWith(`| ${status} | \`${code}\` | `))).toHaveLength(1);
  });

  it('gives each success of the interface a named schema', () => {
    for (const [name, { responses }] of underV2) {
      const [success] = Object.entries(responses).filter(([status]) => status < '300');
      const schemas = Object.values(success?.[1].content ?? {}).map(({ schema }) => schema);
      // All responses of one kind share a schema, so that a generated client has one type for them.
      expect([name, schemas]).toEqual([
        name,
        [name.endsWith('.csv') ? { type: 'string' } : { $ref: expect.any(String) }],
      ]);
      expect([name, success?.[1].description]).toEqual([name, expect.stringMatching(/\w/)]);
    }
    expect(reference.components.schemas['Metrics']?.required).toEqual(['metrics', 'blockedByType', 'blockedByDay']);
  });

  it('describes each field, and states for each number whether it is a count', () => {
    const faults: string[] = [];
    const walk = (at: string, schema: Record<string, unknown>): void => {
      if (schema['type'] === 'number' && schema['format'] === undefined) faults.push(`${at} is a number of no format`);
      if (schema['type'] === 'integer' && schema['minimum'] === undefined && schema['format'] === undefined)
        faults.push(`${at} has neither minimum nor format`);
      if (schema['type'] === 'array' && schema['items'] === undefined) faults.push(`${at} has no items`);
      for (const [name, property] of Object.entries((schema['properties'] ?? {}) as Record<string, typeof schema>)) {
        const { description = property['$ref'] ?? property['examples'] ?? property['const'] } = property;
        if (description === undefined) faults.push(`${at}.${name} is not explained`);
        walk(`${at}.${name}`, property);
      }
      if (schema['items']) walk(`${at}[]`, schema['items'] as typeof schema);
    };
    for (const [name, schema] of Object.entries(reference.components.schemas)) {
      expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
      expect(name).not.toMatch(/Dto$|Controller/);
      walk(name, schema as Record<string, unknown>);
    }
    expect(faults).toEqual([]);
  });

  it('gives code generators no field whose type they would narrow wrongly', () => {
    const faults: string[] = [];
    const walk = (at: string, part: unknown): void => {
      if (typeof part !== 'object' || part === null) return;
      const schema = part as Record<string, unknown>;
      // Generators make a field with a default value required, although the client may omit it.
      if (typeof schema['default'] !== 'undefined') faults.push(`${at} has a default value`);
      if ('properties' in schema && ('anyOf' in schema || 'oneOf' in schema)) faults.push(`${at} is two types at once`);
      if (schema['type'] === 'object' && !('properties' in schema || 'additionalProperties' in schema))
        faults.push(`${at} is an object without fields`);
      for (const [key, value] of Object.entries(schema)) if (key !== 'examples') walk(`${at}.${key}`, value);
    };
    walk('schemas', reference.components.schemas);
    expect(faults).toEqual([]);
    const { items } = reference.components.schemas['Feed'] as unknown as {
      items: { oneOf: { $ref: string }[]; discriminator: { propertyName: string; mapping: object } };
    };
    expect(items.discriminator.propertyName).toBe('type');
    expect(Object.values(items.discriminator.mapping)).toEqual(items.oneOf.map(({ $ref }) => $ref));
  });

  it('lists the media type that holds several items first, because code generators use only the first one', () => {
    for (const [name, { requestBody }] of operations) {
      const types = Object.values(requestBody?.content ?? {}).map(({ schema }) => (schema as { type?: string }).type);
      expect([name, types.indexOf('array')]).toEqual([name, types.includes('array') ? 0 : -1]);
    }
  });

  it('declares each parameter once, with a description', () => {
    for (const [name, { parameters = [] }] of operations) {
      const names = parameters.map((parameter) => parameter.name.toLowerCase());
      expect([name, names]).toEqual([name, [...new Set(names)]]);
      for (const { name: parameter, description } of parameters)
        expect([name, parameter, description]).toEqual([name, parameter, expect.stringMatching(/./)]);
    }
  });

  it('is served, and its page loads nothing from other servers', async () => {
    const get = (url: string) => app.inject({ url });
    expect((await get('/openapi.json')).json()).toMatchObject({
      openapi: reference.openapi,
      servers: [{ url: '/' }],
    });
    const page = (await get('/docs')).payload;
    const files = [...page.matchAll(/(?:src|<link [^>]*href)="([^"]+)"/g)].map(([, file]) => file!);
    expect(files.length).toBeGreaterThan(2);
    for (const file of files.filter((each) => !each.startsWith('data:'))) {
      expect(file).not.toMatch(/^(https?:)?\/\//);
      expect([file, (await get(`/${file}`)).statusCode]).toEqual([file, 200]);
    }
  });
});
