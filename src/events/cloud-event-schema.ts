import { ID_PATTERN, MAX_ID_LENGTH } from './event-id.js';
import type { UpstreamDeclaration } from './declaring/declaration.js';
import { UPSTREAM, type UpstreamEvent } from './event.js';
import { instant, type JsonSchema } from './declaring/fields.js';
import { JSON_MEDIA_TYPE, MAX_MEDIA_TYPE_LENGTH } from './declaring/json-media-type.js';
import { dataSchema, DIALECT, schemaPath, SHARED_SCHEMAS } from './declaring/json-schema.js';
import { URI_REFERENCE } from './declaring/uri-reference.js';

const ID: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH };

/** The CloudEvents attributes common to all types, in JSON form. */
export const ATTRIBUTES: Readonly<Record<string, JsonSchema>> = {
  specversion: { type: 'string', const: '1.0', description: 'The version of CloudEvents.' },
  id: {
    ...ID,
    pattern: ID_PATTERN,
    description:
      'Identifies the event, together with `source`, `type` and the record. Sending the event again has no effect.',
  },
  source: {
    ...ID,
    pattern: URI_REFERENCE.source,
    description: 'The origin of the event: a URI reference (RFC 3986).',
  },
  time: instant('When the event happened.').schema,
  datacontenttype: {
    type: ['string', 'null'],
    maxLength: MAX_MEDIA_TYPE_LENGTH,
    pattern: JSON_MEDIA_TYPE.source,
    description: 'A JSON media type. `data` is JSON even without it.',
  },
};

/** Attributes that are accepted and ignored; others may be sent too. */
const UNREAD: Readonly<Record<string, JsonSchema>> = {
  dataschema: {
    type: ['string', 'null'],
    format: 'uri',
    description:
      'The URL of the schema of `data`, such as `https://HOST/schemas/ReportFiled.json`. Ignored, because `type` determines the schema.',
  },
  subject: { type: ['string', 'null'], description: 'Ignored, because the subject is in `data`.' },
};

const attributes: JsonSchema = {
  type: 'object',
  required: ['specversion', 'id', 'source', 'time'],
  properties: { ...ATTRIBUTES, ...UNREAD },
  // `data_base64` is accepted instead of `data`, but a schema cannot look inside; both together are rejected.
  not: { type: 'object', required: ['data_base64'], properties: { data_base64: { not: { type: 'null' } } } },
};

const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Components for AsyncAPI and OpenAPI: `ReportFiled` is the data, `ReportFiledEvent` the CloudEvent around it. */
export const eventSchemas = (): Record<string, JsonSchema> => ({
  ...SHARED_SCHEMAS,
  EventAttributes: attributes,
  ...Object.fromEntries(
    UPSTREAM.flatMap((declaration) => {
      const { type, description } = declaration;
      const own: JsonSchema = {
        type: 'object',
        required: ['type', 'data'],
        properties: { type: { type: 'string', const: type }, data: refTo(type) },
      };
      return [
        [type, dataSchema(declaration, refTo)],
        [`${type}Event`, { description, allOf: [refTo('EventAttributes'), own] }],
      ];
    }),
  ),
});

/** The same plus schemas for any event and any data: OpenAPI discriminates types, AsyncAPI has a message for each. */
export const openApiSchemas = (): Record<string, JsonSchema> => ({
  ...eventSchemas(),
  CloudEvent: {
    description: 'An event of any type; `type` determines `data`.',
    oneOf: UPSTREAM.map(({ type }) => refTo(`${type}Event`)),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(UPSTREAM.map(({ type }) => [type, refTo(`${type}Event`)['$ref']])),
    },
  },
  EventData: {
    description: 'The data of an event whose type is in the header `ce-type`.',
    anyOf: UPSTREAM.map(({ type }) => refTo(type)),
  },
});

/** A CloudEvent in its JSON form. */
export interface JsonCloudEvent {
  readonly specversion: '1.0';
  readonly id: string;
  readonly source: string;
  readonly type: UpstreamEvent['type'];
  readonly time: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** One example event per type. */
export const EXAMPLES: readonly JsonCloudEvent[] = UPSTREAM.map(
  ({ type, example }: UpstreamDeclaration<UpstreamEvent['type']>) => ({
    specversion: '1.0',
    id: `${type}-1`,
    source: 'https://upstream.example',
    type,
    time: String(example['updatedAt'] ?? example['deletedAt'] ?? example['createdAt']),
    data: example,
  }),
);

/**
 * The whole event in its JSON form.
 * @param refTo how the document refers to the schema of a type's data
 */
const cloudEvent = (refTo: (type: string) => JsonSchema): JsonSchema => ({
  title: 'CloudEvent',
  description: 'An event as accepted by `POST /v2/events`, alone or in a batch.',
  ...attributes,
  required: [...(attributes['required'] as string[]), 'type', 'data'],
  properties: {
    ...(attributes['properties'] as object),
    type: { type: 'string', enum: UPSTREAM.map(({ type }) => type), description: 'The event type.' },
    data: { type: 'object', description: 'The data of the event, as described by the schema of its type.' },
  },
  // Not oneOf: this way a validator reports errors for the intended type only.
  allOf: UPSTREAM.map(({ type }) => ({
    if: { properties: { type: { const: type } } },
    // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
    then: { properties: { data: refTo(type) } },
  })),
});

/** Every schema by name, as a separate document. `CloudEvent` is the whole event, the others are data. */
export const schemaDocuments = (): ReadonlyMap<string, JsonSchema> => {
  const schemas: Record<string, JsonSchema> = {
    ...Object.fromEntries(UPSTREAM.map((declaration) => [declaration.type, dataSchema(declaration)])),
    CloudEvent: cloudEvent((type) => ({ $ref: schemaPath(type) })),
  };
  return new Map(
    Object.entries(schemas).map(([name, schema]) => [name, { $schema: DIALECT, $id: schemaPath(name), ...schema }]),
  );
};

const within = (name: string): JsonSchema => ({ $ref: `#/$defs/${name}` });

/** The whole event and all that it refers to in one document, for validators that load no other. */
export const bundledSchema = (): JsonSchema => ({
  $schema: DIALECT,
  ...cloudEvent(within),
  $defs: {
    ...SHARED_SCHEMAS,
    ...Object.fromEntries(UPSTREAM.map((declaration) => [declaration.type, dataSchema(declaration, within)])),
  },
});
