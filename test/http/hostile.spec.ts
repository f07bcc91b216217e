import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { assetGroups } from '../../projections/asset-groups.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { readReference } from '../support/contract.js';
import { exampleRequests } from '../support/example-requests.js';
import { sized } from '../support/full-size.js';
import { sendRaw } from '../support/raw.js';

const GROUPS = '/v2/organization/asset-groups';
const CODE = /^[A-Z_]{4,40}$/;

const app = sharedApp();
sharedProjecting(app, [assetGroups]);
let key: string;
beforeAll(async () => {
  key = await app.issueKey({ organization: 'acme', scopes: ['read', 'write', 'ingest'] });
});

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
  app.call(path, { key, body, headers: { 'content-type': type } });

const expectFlatError = ({ status, body }: { status: number; body: { code?: string; message?: string } }): void => {
  expect(status).toBeLessThan(500);
  if (status < 400) return;
  expect(body).toMatchObject({ code: expect.stringMatching(CODE), message: expect.any(String) });
  expect(Object.keys(body).filter((name) => !['code', 'message', 'issues', 'rejected'].includes(name))).toEqual([]);
  expect(body.message).not.toMatch(/\n|\bat .*:\d+|node_modules|Error:/);
};

describe('Hostile bodies', () => {
  it('with deep nesting in unknown fields get an error about the missing field, or are accepted if all known fields are valid', async () => {
    for (const depth of [1_000, 30_000]) {
      const [open, close] = ['['.repeat(depth), ']'.repeat(depth)];
      expect(await post(GROUPS, open + close)).toMatchObject({
        status: 400,
        body: { message: 'Group name is required' },
      });
      expect(await post(GROUPS, `{"odd":${open}${close}}`)).toMatchObject({ status: 400 });
      expect(await post(GROUPS, `{"name":${open}${close}}`)).toMatchObject({ status: 400 });
      expect(await post(GROUPS, `{"name":"deep ${depth}","odd":${open}${close}}`)).toMatchObject({ status: 201 });
    }
    const objects = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`;
    expect(await post(GROUPS, objects)).toMatchObject({ status: 400 });
  });

  it('of random bytes get the flat error body on every route with every media type', async () => {
    const paths = [GROUPS, '/v2/asset/check', '/v2/asset/check/bulk', '/v2/events', '/v2/organization/metrics'];
    const types = [
      'application/json',
      'application/cloudevents+json',
      'application/cloudevents-batch+json',
      'text/plain',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...paths),
        fc.constantFrom(...types),
        fc.oneof(fc.json(), fc.string(), fc.uint8Array({ maxLength: 300 })),
        async (path, type, body) => {
          expectFlatError(await post(path, typeof body === 'string' ? body : new Uint8Array(body), type));
        },
      ),
      { numRuns: sized(60, 120), seed: 7 },
    );
  });

  it('with names of JavaScript properties have no effect', async () => {
    const properties = Object.getOwnPropertyNames(Object.prototype);
    for (const name of [
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      'hasOwnProperty',
      'then',
      'toJSON',
      'length',
    ])
      for (const value of ['{"name":"x"}', '{"prototype":{"x":1}}', '"x"', '1', 'null', '[]'])
        expect(await post(GROUPS, `{"${name}":${value}}`)).toMatchObject({
          status: 400,
          body: { message: 'Group name is required' },
        });
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(properties);
  });
});

/** The declared example of each request with a body. */
const requests = exampleRequests().filter(({ body }) => body !== undefined);

/** Yields copies of the value in which one place, or the whole value, is an object that `String` cannot convert. */
function* withUnconvertible(value: unknown): Generator<unknown> {
  yield { toString: 1 };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value))
    for (const changed of withUnconvertible(inner))
      yield Array.isArray(value) ? value.with(Number(name), changed) : { ...value, [name]: changed };
}

describe('A body with an object that cannot be converted to a string, in any field', () => {
  it.each(requests)('causes no 500 on $id', async ({ method, path, headers, body }) => {
    for (const changed of withUnconvertible(body)) {
      const answer = await app.call(path, { method, key, json: changed, headers });
      // No delivery process runs in this spec.
      if (!path.includes('/webhooks/')) expectFlatError(answer);
      else expect(answer.status).not.toBe(500);
    }
  });

  it('is tested on every operation with a body', () => {
    const expected = Object.values(readReference().paths).flatMap((operations) =>
      Object.values(operations).filter((operation) => 'requestBody' in operation),
    );
    expect(requests.map(({ id }) => id)).toEqual(expected.map(({ operationId }) => operationId));
    expect(requests.length).toBeGreaterThan(8);
  });
});

describe('Hostile URLs', () => {
  it('with random characters get the flat error body', async () => {
    const hostile = fc.oneof(
      fc.webPath(),
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc
        .constantFrom('/v2/organization/asset-groups/', '/v2/organization/metrics?')
        .chain((start) =>
          fc
            .string({ maxLength: 40 })
            .map((rest) => start + encodeURIComponent(rest.toWellFormed()).replaceAll('%2', '%')),
        ),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'DELETE', 'TRACE', 'PUT', 'QUERY'),
        hostile,
        async (method, path) => {
          const head = `${method} ${path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nConnection: close\r\n\r\n`;
          const { answer: raw } = await sendRaw(app.url, head);
          const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(raw) ?? [];
          const body = JSON.parse(raw.slice(raw.indexOf('\r\n\r\n') + 4).replace(/^$/, 'null')) as object | null;
          expect(Number(status)).toBeGreaterThanOrEqual(200);
          if (Number(status) >= 400 || body !== null) expectFlatError({ status: Number(status), body: body ?? {} });
        },
      ),
      { numRuns: sized(60, 120), seed: 7 },
    );
  });
});
