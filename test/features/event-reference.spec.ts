import { FEED_MESSAGES } from '../../src/events/feed-schema.js';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { EXAMPLES } from '../../src/events/cloud-event-schema.js';
import { UPSTREAM_TYPES } from '../../src/events/event.js';
import { sharedApp } from '../support/open-for-tests.js';
import { readReference } from '../support/contract.js';

type Event = (typeof EXAMPLES)[number];

const STRUCTURED = 'application/cloudevents+json';
const BATCH = 'application/cloudevents-batch+json';
const BINARY = 'application/json';
const TYPES = UPSTREAM_TYPES.length;

const app = sharedApp();
let key: string;

beforeAll(async () => {
  key = await app.issueKey({ scopes: ['ingest'] });
  await app.issueKey({ organization: 'acme' });
});

const get = async (path: string) => (await app.call(path)).body;

const send = async (contentType: string, json: unknown, headers: Record<string, string> = {}): Promise<unknown> =>
  (await app.call('/v2/events', { key, json, headers: { 'content-type': contentType, ...headers } })).body;
const ACCEPTED = { accepted: 1, duplicates: 0, rejected: [] };

describe('GET /schemas', () => {
  it('lists each type that upstream reports with the URL of its schema', async () => {
    const { cloudEvent, bundled, types } = await get('/schemas');
    expect(cloudEvent).toBe('/schemas/CloudEvent.json');
    expect(bundled).toBe('/schemas/CloudEvent.bundled.json');
    expect(types).toEqual(
      UPSTREAM_TYPES.map((type) => ({
        type,
        description: expect.stringMatching(/\w \w/),
        dataschema: `/schemas/${type}.json`,
      })),
    );
  });

  it('links to schemas that accept every example, as a whole event and as data', async () => {
    const { cloudEvent, types } = await get('/schemas');
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, loadSchema: get });
    addFormats.default(ajv);
    const isEvent = await ajv.compileAsync(await get(cloudEvent));
    for (const { type, dataschema } of types) {
      const schema = await get(dataschema);
      expect(schema).toMatchObject({ $schema: expect.stringMatching(/2020-12/), $id: dataschema, title: type });
      const event = EXAMPLES.find((example) => example.type === type)!;
      expect([type, schema.examples]).toEqual([type, [event.data]]);
      expect([type, ajv.getSchema(dataschema)!(event.data), isEvent(event)]).toEqual([type, true, true]);
    }
  });

  it('provides the whole event in one document that gives the same validation results', async () => {
    const { cloudEvent, bundled } = await get('/schemas');
    const alone = new Ajv2020({ strict: true, allowUnionTypes: true });
    addFormats.default(alone);
    const isEvent = alone.compile(await get(bundled));
    const loading = new Ajv2020({ strict: true, allowUnionTypes: true, loadSchema: get });
    addFormats.default(loading);
    const isEventToo = await loading.compileAsync(await get(cloudEvent));
    for (const event of EXAMPLES) {
      expect([event.type, isEvent(event), isEventToo(event)]).toEqual([event.type, true, true]);
      for (const name of ['organization', 'asset', 'changeId', 'updatedAt', 'deletedAt']) {
        const broken = { ...event, data: { ...event.data, [name]: 5 } };
        expect([event.type, name, isEvent(broken)]).toEqual([event.type, name, isEventToo(broken)]);
      }
      expect([event.type, isEvent({ ...event, data: {} })]).toEqual([event.type, false]);
    }
  });

  it('is public, and returns 304 to a client that already has the document', async () => {
    for (const path of ['/schemas', '/schemas/ReportFiled.json', '/asyncapi.json']) {
      const response = await fetch(app.url + path);
      expect([path, response.status, response.headers.get('cache-control')]).toEqual([path, 200, 'no-cache']);
      expect(response.headers.get('content-type')).toMatch(/^application\/(?:schema\+)?json/);
      const again = await fetch(app.url + path, { headers: { 'if-none-match': response.headers.get('etag')! } });
      expect([path, again.status]).toEqual([path, 304]);
      expect((await fetch(app.url + path, { method: 'POST' })).status).toBe(405);
    }
  });

  it('returns 404 for an unknown type', async () => {
    for (const name of [
      'ReportFilled.json',
      'ReportFiled',
      'reportfiled.json',
      'AssetGroupCreated.json',
      '__proto__',
      '%2e%2e%2fmain.js',
    ]) {
      const response = await fetch(`${app.url}/schemas/${name}`);
      expect([name, response.status, await response.json()]).toEqual([
        name,
        404,
        { code: 'NOT_FOUND', message: 'Unknown schema; GET /schemas lists all' },
      ]);
    }
  });
});

describe('The API reference of POST /v2/events', () => {
  const { requestBody, parameters } = readReference().paths['/v2/events']!['post']!;
  const { content } = requestBody as unknown as {
    content: Record<string, { schema: object; examples: Record<string, { value: any }> }>;
  };
  const shown = (type: string): any[] => Object.values(content[type]!.examples).map(({ value }) => value);
  /** The header parameters with their examples. */
  const headers = Object.fromEntries(
    (parameters as readonly any[])
      .filter((parameter) => parameter.in === 'header' && parameter.name.startsWith('ce-'))
      .map(({ name, example, schema }) => [name, example ?? schema.examples[0]]),
  );

  it('has an example of each type that is accepted as a single event', async () => {
    expect(shown(STRUCTURED)).toEqual(EXAMPLES);
    for (const event of shown(STRUCTURED))
      expect([event.type, await send(STRUCTURED, event)]).toEqual([event.type, ACCEPTED]);
  });

  it('has examples of batches, of one event and of all types, whose events are accepted as duplicates', async () => {
    expect(shown(BATCH)).toEqual([EXAMPLES.slice(0, 1), EXAMPLES]);
    expect(await send(BATCH, shown(BATCH)[1])).toEqual({ accepted: 0, duplicates: TYPES, rejected: [] });
    const others = (shown(BATCH)[1] as Event[]).map((event) => ({ ...event, id: `${event.id}-again` }));
    expect(await send(BATCH, others)).toEqual({ accepted: TYPES, duplicates: 0, rejected: [] });
  });

  it('has an example in binary mode with its headers, and each type is accepted in binary mode', async () => {
    expect(await send(BINARY, shown(BINARY)[0], headers)).toEqual({ accepted: 0, duplicates: 1, rejected: [] });
    for (const { id, type, time, data } of EXAMPLES) {
      const binaryHeaders = { ...headers, 'ce-id': `${id}-binary`, 'ce-type': type, 'ce-time': time };
      expect([type, await send(BINARY, data, binaryHeaders)]).toEqual([type, ACCEPTED]);
    }
  });

  it('documents each media type and its limits', () => {
    expect(Object.keys(content)).toEqual([BATCH, STRUCTURED, BINARY]);
    expect(content[STRUCTURED]!.schema).toEqual({ $ref: '#/components/schemas/CloudEvent' });
    expect(content[BATCH]!.schema).toEqual({ type: 'array', maxItems: 1000, items: content[STRUCTURED]!.schema });
    const { schemas } = readReference().components as unknown as { schemas: Record<string, any> };
    expect(schemas['CloudEvent']).toMatchObject({ discriminator: { propertyName: 'type' }, oneOf: { length: TYPES } });
    expect(Object.keys(schemas['CloudEvent'].discriminator.mapping)).toEqual(UPSTREAM_TYPES);
  });

  it('documents who may send which type', async () => {
    const { description } = readReference().paths['/v2/events']!['post'] as { description?: string };
    const ownKey = await app.issueKey({ organization: 'acme', scopes: ['ingest'] });
    const response = await fetch(`${app.url}/v2/events`, {
      method: 'POST',
      headers: { 'x-api-key': ownKey, 'content-type': BATCH },
      body: JSON.stringify(EXAMPLES),
    });
    const { rejected } = (await response.json()) as { rejected: { index: number }[] };
    const refused = rejected.map(({ index }) => EXAMPLES[index]!.type);
    expect(description).toContain(
      `${refused.map((type) => `\`${type}\``).join(', ')}\nneed a key without an organization`,
    );
  });

  it('never fetches a dataschema', async () => {
    const [event] = EXAMPLES;
    for (const [index, dataschema] of [
      `${app.url}/schemas/ReportFiled.json`,
      '/schemas/ThreatDeleted.json',
      'https://elsewhere.example/schema.json',
      'http://127.0.0.1:9/',
      '',
      5,
    ].entries())
      expect([dataschema, await send(STRUCTURED, { ...event, id: `schema-${index}`, dataschema })]).toEqual([
        dataschema,
        ACCEPTED,
      ]);
  });
});

describe('GET /asyncapi.json', () => {
  it('has one named schema for assets that every type refers to, as in OpenAPI', async () => {
    const { components } = await get('/asyncapi.json');
    const all = { asyncapi: components.schemas, openapi: readReference().components.schemas as Record<string, any> };
    for (const [name, schemas] of Object.entries(all)) {
      expect([name, schemas['Asset']]).toMatchObject([name, { required: ['type', 'content'] }]);
      const referring = UPSTREAM_TYPES.filter((type) => schemas[type].properties.asset?.$ref?.endsWith('/Asset'));
      expect([name, referring]).toEqual([name, EXAMPLES.filter(({ data }) => 'asset' in data).map(({ type }) => type)]);
    }
  });

  it('has a message for each type, with the schema and the example that OpenAPI has', async () => {
    const { components, info } = await get('/asyncapi.json');
    const reference = readReference() as unknown as { info: { version: string }; components: { schemas: object } };
    expect(info.version).toBe(reference.info.version);
    expect(reference.components.schemas).toMatchObject(components.schemas);
    expect(Object.keys(components.messages)).toEqual([...UPSTREAM_TYPES, ...FEED_MESSAGES]);
    for (const name of FEED_MESSAGES)
      expect(components.messages[name].payload).toEqual({ $ref: `#/components/schemas/${name}` });
    for (const [index, type] of UPSTREAM_TYPES.entries()) {
      const { payload, examples } = components.messages[type];
      expect(payload).toEqual({ $ref: `#/components/schemas/${type}Event` });
      expect(examples).toEqual([{ name: type, payload: EXAMPLES[index] }]);
    }
  });
});
