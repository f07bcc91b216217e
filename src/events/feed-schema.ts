import type { JsonSchema } from './declaring/fields.js';
import { DIALECT, schemaPath } from './declaring/declaration.js';
import { exampleItem, itemSchema, KIND_NAMES, type ListedKind } from './listed-items.js';

/** The prefix of the type of each feed element. */
export const FEED_TYPE_PREFIX = 'threat-protection.';
export const FEED_SOURCE = '/v2/organization/feed';

const SCHEMA_NAMES = KIND_NAMES.map((kind) => [kind, kind[0]!.toUpperCase() + kind.slice(1)] as const);

const exampleElement = (kind: ListedKind): object => {
  const item = exampleItem(kind);
  return {
    specversion: '1.0',
    id: 'fQ3zv2Lk.5n0b1Zx8c7V6b5N4m3M2a1',
    source: FEED_SOURCE,
    type: FEED_TYPE_PREFIX + kind,
    subject: item['id'],
    time: '2026-03-01T12:00:00.000Z',
    datacontenttype: 'application/json',
    data: item,
  };
};

const element = (kind: ListedKind, data: JsonSchema): JsonSchema => ({
  type: 'object',
  description: `A ${kind} was stored or changed. If \`method\` is present, the ${kind} was deleted or no longer concerns the organization.`,
  required: ['specversion', 'id', 'source', 'type', 'subject', 'time'],
  properties: {
    specversion: { type: 'string', const: '1.0', description: 'The version of CloudEvents.' },
    id: {
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{1,128}$',
      description: 'The opaque position in the feed, to be sent as `lastEventId` of the next request.',
    },
    source: { type: 'string', const: FEED_SOURCE, description: 'This service.' },
    type: { type: 'string', const: FEED_TYPE_PREFIX + kind, description: 'The kind of record.' },
    subject: { type: 'string', description: 'The id of the record.' },
    time: {
      type: 'string',
      format: 'date-time',
      description: 'When the service stored the change.',
      examples: ['2026-03-01T12:00:00.000Z'],
    },
    datacontenttype: { type: 'string', const: 'application/json', description: 'Present if `data` is present.' },
    data,
    method: { type: 'string', const: 'DELETE', description: 'Sent instead of `data` if the record must be removed.' },
  },
  examples: [exampleElement(kind)],
});

/**
 * Requires `data` or `method`. Only the separate documents state this rule, for validators: code generators turn an
 * `anyOf` next to `properties` into a union with empty types, whose properties cannot be read.
 */
const DATA_OR_METHOD: JsonSchema = {
  anyOf: [
    { type: 'object', required: ['data', 'datacontenttype'] },
    { type: 'object', required: ['method'] },
  ],
};

const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** The names of the feed messages. */
export const FEED_MESSAGES = SCHEMA_NAMES.map(([, name]) => `Feed${name}`);

/** The schema of a page of a list. */
const page = (name: string): JsonSchema => ({
  type: 'object',
  required: ['items'],
  properties: {
    items: {
      type: 'array',
      description: 'The records, newest first; records of the same instant are sorted by id.',
      items: refTo(`${name}Item`),
    },
    nextCursor: {
      type: 'string',
      description:
        'The cursor of the next page. Absent on the last page. The cursor does not expire, and works on every instance.',
    },
  },
});

/** Schema components for OpenAPI and AsyncAPI. */
export const feedSchemas = (): Record<string, JsonSchema> =>
  Object.fromEntries(
    SCHEMA_NAMES.flatMap(([kind, name]) => [
      [`${name}Item`, itemSchema(kind, { asset: refTo('Asset') })],
      [`Feed${name}`, element(kind, refTo(`${name}Item`))],
    ]),
  );

/** Schema components for OpenAPI only. */
export const pageSchemas = (): Record<string, JsonSchema> =>
  Object.fromEntries(SCHEMA_NAMES.map(([, name]) => [`${name}Page`, page(name)]));

/** The schema of a feed response. In AsyncAPI, the elements of the response are messages. */
export const FEED_SCHEMA: JsonSchema = {
  type: 'array',
  description: 'The elements, in the order in which changes were stored.',
  items: {
    oneOf: FEED_MESSAGES.map(refTo),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(
        SCHEMA_NAMES.map(([kind, name]) => [FEED_TYPE_PREFIX + kind, refTo(`Feed${name}`)['$ref']]),
      ),
    },
  },
};

/** The schema of each kind of element, as separate documents. */
export const feedDocuments = (): ReadonlyMap<string, JsonSchema> =>
  new Map(
    SCHEMA_NAMES.map(([kind, title]) => {
      const name = `Feed${title}`;
      const schema = { ...element(kind, itemSchema(kind)), ...DATA_OR_METHOD };
      return [name, { $schema: DIALECT, $id: schemaPath(name), title: name, ...schema }];
    }),
  );
