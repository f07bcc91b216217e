import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { ATTRIBUTES, type JsonCloudEvent, EXAMPLES, schemaDocuments } from '../../src/events/cloud-event-schema.js';
import { UPSTREAM_TYPES } from '../../src/events/event.js';
import type { JsonSchema } from '../../src/events/declaring/fields.js';
import { LATEST } from '../../src/events/instant.js';
import { schemaPath } from '../../src/events/declaring/json-schema.js';
import { readCloudEvent } from '../../src/ingestion/receive/cloud-event.js';
import { decide } from '../../src/ingestion/receive/decide-events.js';
import { RecordEvents } from '../../src/ingestion/receive/record-events.js';
import { finish } from '../../src/flow/time-slices.js';
import { eachAwkward, nearly } from '../support/schema-values.js';

const documents = schemaDocuments();
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, schemas: [...documents.values()] });
addFormats.default(ajv, ['date-time', 'uri']);
const isValid = ajv.getSchema(schemaPath('CloudEvent'))!;

/** What the endpoint decides of an event from a key without an organization. */
const isTaken = (event: unknown): boolean => {
  const command = new RecordEvents([readCloudEvent(event, LATEST, true)], LATEST, undefined);
  return finish(decide(command)).rejected.length === 0;
};

const SOURCES = ['https://upstream.example/a?b#c', 'urn:upstream:1', '/threats', 'a%20b', '?'];

const JSON_TYPES = ['application/json', 'text/json; charset=utf-8', 'application/vnd.upstream+json', 'a/JSON'];

/** What is read of an event like this one. What random texts would hardly ever be is one of a few that are right. */
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
  if (valid !== isTaken(event)) expect({ event, endpoint: isTaken(event) }).toEqual({ event, endpoint: valid });
};

describe('The endpoint and the schema of a CloudEvent', () => {
  it('agree on each example', () => {
    expect(EXAMPLES.map((event) => [event.type, isValid(event), isTaken(event)])).toEqual(
      UPSTREAM_TYPES.map((type) => [type, true, true]),
    );
  });

  it('agree on each awkward value of each attribute', () => {
    const [example] = EXAMPLES;
    for (const event of eachAwkward({ ...example, datacontenttype: 'application/json' }, schemaOf(example!)))
      expectAgreement(event);
  });

  it('agree on each type with the data of each other type', () => {
    for (const { type } of EXAMPLES) for (const { data } of EXAMPLES) expectAgreement({ ...EXAMPLES[0], type, data });
  });

  it('agree on random attributes', () => {
    fc.assert(fc.property(fc.oneof(...EXAMPLES.map((example) => nearly(schemaOf(example)))), expectAgreement), {
      numRuns: 100,
    });
  });

  it('agree that an event is an object of a type that upstream reports', () => {
    for (const event of [null, [], [EXAMPLES[0]], 'event', { ...EXAMPLES[0], type: 'AssetGroupCreated' }])
      expect([event, isValid(event), isTaken(event)]).toEqual([event, false, false]);
  });
});

describe('What the schema leaves to words', () => {
  const [example] = EXAMPLES;

  it('is data in base64, which the endpoint takes', () => {
    const { data, ...attributes } = example!;
    const event = { ...attributes, data_base64: Buffer.from(JSON.stringify(data)).toString('base64') };
    expect([isValid(event), isTaken(event)]).toEqual([false, true]);
  });

  it('is that attributes that are not read refuse nothing, right or wrong as CloudEvents has them', () => {
    for (const extra of [{ dataschema: 5 }, { subject: {} }, { dataschema: 'no uri' }])
      expect([isValid({ ...example, ...extra }), isTaken({ ...example, ...extra })]).toEqual([false, true]);
    expect([isValid({ ...example, traceparent: {} }), isTaken({ ...example, traceparent: {} })]).toEqual([true, true]);
  });

  it('is U+0000 in a field that nobody reads', () => {
    const event = { ...example, data: { ...example!.data, more: ['\0'] } };
    expect([isValid(event), isTaken(event)]).toEqual([true, false]);
  });
});
