import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

/** The types in the reference come from a plugin of the build, so the built service is what is asked. */
const MAIN = join(import.meta.dirname, '../../dist/src/main.js');

// A process has to start.
jest.setTimeout(120_000);

interface Operation {
  readonly summary?: string;
  readonly security?: readonly object[];
  readonly requestBody?: { content: Record<string, { schema: object }> };
  readonly parameters?: readonly { name: string; in: string; description?: string; schema: object }[];
  readonly responses: Record<
    string,
    { headers?: object; content?: Record<string, { schema: object; example?: object }> }
  >;
}

interface Reference {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    schemas: Record<string, { properties?: object; required?: string[] }>;
    securitySchemes: object;
  };
}

let database: TestDatabase;
let service: ChildProcess;
let url: string;
let reference: Reference;

beforeAll(async () => {
  database = await createDatabase();
  service = spawn(process.execPath, [MAIN], {
    env: { ...process.env, DATABASE_URL: database.url, PORT: '0', LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  url = await new Promise((resolve, reject) => {
    service.on('message', (told) => resolve((told as { url: string }).url));
    service.on('exit', (code) => reject(new Error(`The service ended with ${code}; is it built?`)));
  });
  reference = (await (await fetch(`${url}/openapi.json`)).json()) as Reference;
});
afterAll(async () => {
  if (service?.exitCode === null) {
    service.removeAllListeners('exit');
    service.kill();
    await once(service, 'exit');
  }
  await database?.drop();
});

const operations = (): [name: string, operation: Operation][] =>
  Object.entries(reference.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  );
const underV2 = (): [string, Operation][] => operations().filter(([name]) => name.includes(' /v2/'));

describe('The API reference', () => {
  it('holds every route and no other', () => {
    expect(
      operations()
        .map(([name]) => name)
        .sort(),
    ).toEqual([
      'delete /v2/organization/asset-groups/{id}',
      'get /health/live',
      'get /health/ready',
      'get /metrics',
      'get /v2/organization',
      'get /v2/organization/asset-groups',
      'get /v2/organization/brands',
      'get /v2/organization/metrics',
      'get /v2/organization/metrics/comparison',
      'get /v2/organization/metrics/timeline',
      'patch /v2/organization/asset-groups/{id}',
      'post /v2/asset/check',
      'post /v2/asset/check/bulk',
      'post /v2/events',
      'post /v2/organization/asset-groups',
    ]);
  });

  it('says for each route under /v2 that it takes a key, and which errors it answers', () => {
    expect(reference.components.securitySchemes).toMatchObject({
      key: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
    });
    for (const [name, { security, responses, requestBody, summary }] of underV2()) {
      expect([name, security]).toEqual([name, [{ key: [] }]]);
      expect([name, summary]).toEqual([name, expect.stringMatching(/./)]);
      const due = ['400', '401', '403', '414', '429', '500', '503', ...(requestBody ? ['413', '415'] : [])];
      expect([name, Object.keys(responses)]).toEqual([name, expect.arrayContaining(due)]);
    }
  });

  it('gives each error the flat body, with an example whose code fits the status', () => {
    const codes: Record<string, string> = {
      400: 'BAD_REQUEST',
      401: 'UNAUTHORIZED',
      404: 'NOT_FOUND',
      409: 'CONFLICT',
    };
    for (const [name, { responses }] of underV2())
      for (const [status, response] of Object.entries(responses).filter(([each]) => each >= '400')) {
        const { schema, example } = response.content!['application/json']!;
        expect([name, status, schema]).toEqual([name, status, { $ref: '#/components/schemas/ErrorBody' }]);
        expect(example).toMatchObject({ code: codes[status] ?? expect.any(String), message: expect.any(String) });
      }
  });

  it('gives each success of the interface a schema whose fields are described', () => {
    for (const [name, { responses }] of underV2()) {
      const [success] = Object.entries(responses).filter(([status]) => status < '300');
      expect([name, success?.[1].content?.['application/json']?.schema]).toEqual([name, { $ref: expect.any(String) }]);
    }
    expect(reference.components.schemas['Metrics']?.required).toEqual(['metrics', 'blockedByType', 'blockedByDay']);
    for (const [name, { properties }] of Object.entries(reference.components.schemas))
      expect([name, Object.keys(properties ?? {}).length > 0]).toEqual([name, true]);
  });

  it('names each parameter once, with a word of what it is', () => {
    for (const [name, { parameters = [] }] of underV2()) {
      const names = parameters.map((parameter) => parameter.name.toLowerCase());
      expect([name, names]).toEqual([name, [...new Set(names)]]);
      for (const { name: parameter, description } of parameters)
        expect([name, parameter, description]).toEqual([name, parameter, expect.stringMatching(/./)]);
    }
  });

  it('refers only to schemas that are there', () => {
    const references = [...JSON.stringify(reference).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name]) => name!,
    );
    expect([...new Set(references)].filter((name) => !(name in reference.components.schemas))).toEqual([]);
  });

  it('can be read by people without another server', async () => {
    const page = await (await fetch(`${url}/docs`)).text();
    const files = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
    expect(files.length).toBeGreaterThan(2);
    for (const file of files) {
      expect(file).not.toMatch(/^(https?:)?\/\//);
      expect([file, (await fetch(new URL(file, `${url}/docs`))).status]).toEqual([file, 200]);
    }
  });
});
