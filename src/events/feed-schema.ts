import { type JsonSchema, SLUG_SCHEMA } from './declaring/fields.js';
import { DIALECT, schemaPath } from './declaring/json-schema.js';

/** What the type of each element of the feed begins with. */
export const FEED_TYPE_PREFIX = 'threat-protection.';
export const FEED_SOURCE = '/v2/organization/feed';
/** The types of its elements, without the prefix. */
export const FEED_KINDS = ['report', 'threat', 'takedown', 'verdict'] as const;

const id: JsonSchema = { type: 'string', description: 'As upstream named it.', examples: ['record-1'] };
const instant = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-03-01T12:00:00.000Z'],
});
const createdAt = instant('When it was created.');
const updatedAt = instant('Since when it has been in this state.');
const listedAsset: JsonSchema = {
  type: 'object',
  description: 'The asset it is about, as upstream sent it.',
  required: ['type', 'content'],
  properties: {
    type: { type: 'string', description: 'The asset type.', examples: ['URL'] },
    content: { type: 'string', description: 'A host, a link, an address, a name.', examples: ['phishing.example'] },
  },
};
const status: JsonSchema = { type: 'string', description: 'Its status, upper case.', examples: ['BLOCKED'] };
const brands = (description: string): JsonSchema => ({
  type: 'array',
  items: SLUG_SCHEMA,
  description,
  examples: [['acme-wallet']],
});

const item = (description: string, properties: Record<string, JsonSchema>, optional: readonly string[] = []) => ({
  type: 'object',
  description,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

/** A record as lists and the feed show it, by kind. */
const itemsOf = (asset: JsonSchema): Readonly<Record<string, JsonSchema>> => ({
  Report: item('A report.', { id, brands: brands('The brands it names.'), createdAt, updatedAt }),
  Threat: item('A threat.', { id, asset, status, createdAt, updatedAt }),
  Takedown: item(
    'A takedown.',
    { id, asset, status, brand: { ...SLUG_SCHEMA, description: 'The brand it was filed for.' }, createdAt, updatedAt },
    ['brand'],
  ),
  Verdict: item('An entry of the asset status history that concerns a brand of the organization.', {
    id,
    asset,
    status: { ...status, enum: ['UNKNOWN', 'ALLOWED', 'BLOCKED'] },
    brands: brands("The organization's own brands that it concerns, sorted."),
    createdAt,
  }),
});

const KINDS = Object.keys(itemsOf(listedAsset));

const element = (kind: string, data: JsonSchema): JsonSchema => ({
  type: 'object',
  description: `A ${kind.toLowerCase()} was stored or changed, or, with \`method\`, is deleted or no longer concerns the organization.`,
  required: ['specversion', 'id', 'source', 'type', 'subject', 'time'],
  properties: {
    specversion: { type: 'string', const: '1.0', description: 'The version of CloudEvents.' },
    id: {
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{1,128}$',
      description: 'The place in the feed: `lastEventId` of the next request. Opaque.',
    },
    source: { type: 'string', const: FEED_SOURCE, description: 'This service.' },
    type: { type: 'string', const: FEED_TYPE_PREFIX + kind.toLowerCase(), description: 'The kind of record.' },
    subject: { type: 'string', description: "The record's id." },
    time: instant('When the service stored the change.'),
    datacontenttype: { type: 'string', const: 'application/json', description: 'Where there is `data`.' },
    data,
    method: { type: 'string', const: 'DELETE', description: 'Instead of `data`: remove the record.' },
  },
  anyOf: [
    { type: 'object', required: ['data', 'datacontenttype'] },
    { type: 'object', required: ['method'] },
  ],
});

const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** The kinds of elements, as messages. */
export const FEED_MESSAGES = KINDS.map((kind) => `Feed${kind}`);

/** Components for OpenAPI and AsyncAPI. */
export const feedSchemas = (): Record<string, JsonSchema> => ({
  ...Object.fromEntries(KINDS.map((kind) => [`${kind}Item`, itemsOf(refTo('Asset'))[kind]!])),
  ...Object.fromEntries(KINDS.map((kind) => [`Feed${kind}`, element(kind, refTo(`${kind}Item`))])),
});

/** An answer of the feed. AsyncAPI has its elements as messages. */
export const FEED_SCHEMA: JsonSchema = {
  type: 'array',
  description: 'In the order in which changes were stored.',
  items: { anyOf: FEED_MESSAGES.map(refTo) },
};

/** The schema of each kind of element, as a document of its own. */
export const feedDocuments = (): ReadonlyMap<string, JsonSchema> =>
  new Map(
    KINDS.map((kind) => {
      const name = `Feed${kind}`;
      return [
        name,
        { $schema: DIALECT, $id: schemaPath(name), title: name, ...element(kind, itemsOf(listedAsset)[kind]!) },
      ];
    }),
  );
