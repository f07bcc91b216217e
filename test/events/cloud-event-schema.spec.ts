import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { ATTRIBUTES, type JsonCloudEvent, EXAMPLES, schemaDocuments } from '../../src/events/cloud-event-schema.js';
import { UPSTREAM_TYPES } from '../../src/events/event.js';
import type { JsonSchema } from '../../src/events/declaring/fields.js';
import { LATEST } from '../../src/events/instant.js';
import { schemaPath } from '../../src/events/declaring/declaration.js';
import { readCloudEvent } from '../../src/ingestion/receive/cloud-event.js';
import { decide } from '../../src/ingestion/receive/decide-events.js';
import { ErasedOrganizations } from '../../src/event-log/erased-organizations.js';
import { RecordEvents } from '../../src/ingestion/receive/record-events.js';
import { finish } from '../../src/flow/turns.js';
import { eachAwkward, nearly } from '../support/schema-values.js';

const documents = schemaDocuments();
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, schemas: [...documents.values()] });
addFormats.default(ajv, ['date-time', 'uri']);
const isValid = ajv.getSchema(schemaPath('CloudEvent'))!;

/** Whether the endpoint accepts an event from a key without an organization. */
const isAccepted = (event: unknown): boolean => {
  const command = new RecordEvents([readCloudEvent(event, LATEST, true)], LATEST, undefined);
  const decision = finish(decide(command, { guardOf: () => undefined }, new ErasedOrganizations()));
  return decision.rejected.length === 0;
};

const SOURCES = ['https://upstream.example/a?b#c', 'urn:upstream:1', '/threats', 'a%20b', '?'];

const JSON_TYPES = ['application/json', 'text/json; charset=utf-8', 'application/vnd.upstream+json', 'a/JSON'];

/**
 * Returns a schema for random events like this event. Fields that random texts hardly ever match have a few values.
 */
const schemaOf = ({ type, data }: JsonCloudEvent): JsonSchema => ({
  type: 'object',
  required: ['specversion', 'id', 'source', 'time', 'type', 'data'],
  properties: {
    ...ATTRIBUTES,
    source: { type: 'string', enum: SOURCES },
    datacontenttype: { type: ['string', 'null'], enum: JSON_TYPES },
    data_base64: { type: 'null' },
    type: { type: 'string', const: type },
    data: { type: 'object', const: data },
  },
});

const expectAgreement = (event: unknown): void => {
  const valid = isValid(event);
  if (valid !== isAccepted(event)) expect({ event, endpoint: isAccepted(event) }).toEqual({ event, endpoint: valid });
};

describe('The endpoint and the JSON Schema of a CloudEvent', () => {
  it('agree on each example', () => {
    expect(EXAMPLES.map((event) => [event.type, isValid(event), isAccepted(event)])).toEqual(
      UPSTREAM_TYPES.map((type) => [type, true, true]),
    );
  });

  it('agree on edge-case values of each attribute', () => {
    const [example] = EXAMPLES;
    for (const event of eachAwkward({ ...example, datacontenttype: 'application/json' }, schemaOf(example!)))
      expectAgreement(event);
  });

  it('agree on each type combined with the data of each other type', () => {
    for (const { type } of EXAMPLES) for (const { data } of EXAMPLES) expectAgreement({ ...EXAMPLES[0], type, data });
  });

  it('agree on random attributes', () => {
    fc.assert(fc.property(fc.oneof(...EXAMPLES.map((example) => nearly(schemaOf(example)))), expectAgreement), {
      numRuns: 100,
    });
  });

  it('both require an event to be an object with a type that upstream reports', () => {
    for (const event of [null, [], [EXAMPLES[0]], 'event', { ...EXAMPLES[0], type: 'AssetGroupCreated' }])
      expect([event, isValid(event), isAccepted(event)]).toEqual([event, false, false]);
  });
});

describe('Events on which the endpoint and the JSON Schema differ', () => {
  const [example] = EXAMPLES;

  it('have data in base64, which only the endpoint accepts', () => {
    const { data, ...attributes } = example!;
    const event = { ...attributes, data_base64: Buffer.from(JSON.stringify(data)).toString('base64') };
    expect([isValid(event), isAccepted(event)]).toEqual([false, true]);
  });

  it('have invalid ignored attributes, which the endpoint accepts', () => {
    for (const extra of [{ dataschema: 5 }, { subject: {} }, { dataschema: 'no uri' }])
      expect([isValid({ ...example, ...extra }), isAccepted({ ...example, ...extra })]).toEqual([false, true]);
    expect([isValid({ ...example, traceparent: {} }), isAccepted({ ...example, traceparent: {} })]).toEqual([
      true,
      true,
    ]);
  });

  it('have U+0000 in an ignored field, which the endpoint rejects', () => {
    const event = { ...example, data: { ...example!.data, more: ['\0'] } };
    expect([isValid(event), isAccepted(event)]).toEqual([true, false]);
  });
});
