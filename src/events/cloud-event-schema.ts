import { isLongerThan, instant, type JsonSchema } from './declaring/fields.js';
import { ID_PATTERN, MAX_ID_LENGTH } from './streams.js';
import { type UpstreamDeclaration, dataSchema, DIALECT, schemaPath, SHARED_SCHEMAS } from './declaring/declaration.js';
import { UPSTREAM, type UpstreamEvent } from './event.js';

/** Maximum length in code points. */
const MAX_MEDIA_TYPE_LENGTH = 255;

/** `application/json` or a type with the suffix `+json`, with or without parameters. */
const JSON_MEDIA_TYPE = /^[A-Za-z0-9!#$&^_.+-]+\/(?:[A-Za-z0-9!#$&^_.+-]+\+)?[jJ][sS][oO][nN][\t ]*(?:;|$)/;

export const isJsonMediaType = (text: string): boolean =>
  !isLongerThan(text, MAX_MEDIA_TYPE_LENGTH) && JSON_MEDIA_TYPE.test(text);

const P = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})`;

/** A URI, or a relative reference whose first segment has no colon (RFC 3986). */
const URI_REFERENCE = new RegExp(
  String.raw`^(?:[A-Za-z][A-Za-z0-9+.\-]*:|(?![^/?#]*:))` +
    String.raw`(?://(?:${P}*@)?(?:\[[0-9A-Fa-f:.vV]+\](?::\d*)?|${P}*)(?=[/?#]|$))?` +
    String.raw`(?:${P}|/)*(?:\?(?:${P}|[/?])*)?(?:#(?:${P}|[/?])*)?$`,
);

/** @param text at most 1,024 characters */
export const isUriReference = (text: string): boolean => URI_REFERENCE.test(text);

const ID: JsonSchema = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH };

/** The schemas of the CloudEvents attributes that all types have. */
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
    description: 'A JSON media type. `data` is JSON even if this attribute is absent.',
  },
};

/** Attributes that are accepted and ignored. Unknown attributes are ignored too. */
const IGNORED_ATTRIBUTES: Readonly<Record<string, JsonSchema>> = {
  dataschema: {
    type: ['string', 'null'],
    format: 'uri',
    description:
      'The URL of the schema of `data`, such as `https://HOST/schemas/ReportFiled.json`. This attribute is ignored, because `type` determines the schema.',
  },
  subject: { type: ['string', 'null'], description: 'This attribute is ignored, because `data` contains the subject.' },
};

const attributes: JsonSchema = {
  type: 'object',
  required: ['specversion', 'id', 'source', 'time'],
  properties: { ...ATTRIBUTES, ...IGNORED_ATTRIBUTES },
  // The endpoint accepts `data_base64` instead of `data`, but a schema cannot validate it, so this schema rejects it.
  not: { type: 'object', required: ['data_base64'], properties: { data_base64: { not: { type: 'null' } } } },
};

const refTo = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

/** Schema components for AsyncAPI and OpenAPI. `ReportFiled` is the data, `ReportFiledEvent` the whole CloudEvent. */
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

/** Schema components for OpenAPI: `eventSchemas` and schemas for any event and any data. */
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

/** One example event for each type. */
export const EXAMPLES: readonly JsonCloudEvent[] = UPSTREAM.map(
  ({ type, example, instants }: UpstreamDeclaration<UpstreamEvent['type']>) => ({
    specversion: '1.0',
    id: `${type}-1`,
    source: 'https://upstream.example',
    type,
    time: String(example[instants.findLast((name) => name in example)!]),
    data: example,
  }),
);

/**
 * Returns the schema of a whole event in JSON form.
 * @param refTo returns the reference to the schema of the data of a type
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
  // The schema does not use `oneOf`, so that validators report errors only for the type of the event.
  allOf: UPSTREAM.map(({ type }) => ({
    if: { properties: { type: { const: type } } },
    // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
    then: { properties: { data: refTo(type) } },
  })),
});

/** Returns each schema as a separate document, by name. `CloudEvent` is the whole event; the other schemas are data. */
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

/** Returns the schema of a whole event with all referenced schemas in one document. */
export const bundledSchema = (): JsonSchema => ({
  $schema: DIALECT,
  ...cloudEvent(within),
  $defs: {
    ...SHARED_SCHEMAS,
    ...Object.fromEntries(UPSTREAM.map((declaration) => [declaration.type, dataSchema(declaration, within)])),
  },
});
