import { type OpenAPIObject, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { INestApplication } from '@nestjs/common';
import type { JsonSchema } from '../../events/declaring/fields.js';
import { FEED_SCHEMA, feedSchemas, pageSchemas } from '../../events/feed-schema.js';
import { openApiSchemas } from '../../events/cloud-event-schema.js';
import { SHARED_FAILURES } from '../access/access.js';
import { ERROR_CODES } from '../errors/error-body.dto.js';
import { VERSION } from '../../runtime/version.js';
import {
  declareHeaders,
  SHARED_HEADERS,
  DESCRIPTION,
  TAGS,
  METHODS,
  type Operation,
  operationsOf,
  type Parameter,
  type Response,
} from './description.js';

type Node = Record<string, unknown>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null;

/**
 * Replaces an `allOf` with a single reference by the reference: OpenAPI 3.1, unlike 3.0, allows a description next to a
 * `$ref`.
 */
const withoutLoneAllOf = ({ allOf, ...rest }: Node): Node =>
  Array.isArray(allOf) && allOf.length === 1 && !('properties' in rest) ? { ...rest, ...allOf[0] } : { allOf, ...rest };

/** Declares a number as a count (an integer of at least 0), unless its property has a format or a bound. */
const asCount = (schema: Node): Node =>
  schema['type'] === 'number' && !('format' in schema || 'minimum' in schema || 'maximum' in schema)
    ? { ...schema, type: 'integer', minimum: 0 }
    : schema;

/** Replaces `example` of OpenAPI, which is deprecated, with `examples` of JSON Schema. */
const withExamples = ({ example, ...rest }: Node): Node =>
  example === undefined ? rest : { ...rest, examples: [example] };

const plain = (schema: unknown): unknown => {
  if (!isNode(schema) || '$ref' in schema) return schema;
  const written = withExamples(asCount('allOf' in schema ? withoutLoneAllOf(schema) : schema));
  for (const key of ['items', 'additionalProperties']) if (isNode(written[key])) written[key] = plain(written[key]);
  for (const key of ['oneOf', 'anyOf', 'allOf'])
    if (Array.isArray(written[key])) written[key] = (written[key] as unknown[]).map(plain);
  if (isNode(written['properties']))
    written['properties'] = Object.fromEntries(
      Object.entries(written['properties']).map(([name, property]) => [name, plain(property)]),
    );
  return written;
};

/** Converts each `schema` in a part of the document to OpenAPI 3.1. */
const plainSchemas = (part: unknown): void => {
  if (Array.isArray(part)) return part.forEach(plainSchemas);
  if (!isNode(part)) return;
  for (const [key, value] of Object.entries(part)) {
    if (key === 'example' || key === 'examples') continue;
    if (key === 'schema') part[key] = plain(value);
    else plainSchemas(value);
  }
};

/** Removes the suffix `Dto` of classes, which clients need not see. */
const withoutSuffix = (name: string): string => name.replace(/Dto$/, '');

/** @returns the document with every schema in 3.1 notation, under its public name */
const withPlainSchemas = (document: OpenAPIObject): OpenAPIObject => {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const duplicate = schemas.find(
    ([name]) => schemas.filter(([other]) => withoutSuffix(other) === withoutSuffix(name)).length > 1,
  );
  if (duplicate) throw new Error(`Two schemas would be called ${withoutSuffix(duplicate[0])}`);
  plainSchemas(document.paths);
  const components = {
    ...document.components,
    schemas: Object.fromEntries(schemas.map(([name, schema]) => [withoutSuffix(name), plain(schema)])),
  };
  const text = JSON.stringify({ ...document, components });
  return JSON.parse(text.replace(/("#\/components\/schemas\/\w+?)Dto"/g, '$1"')) as OpenAPIObject;
};

type ExampleSchemas = Readonly<Record<string, JsonSchema>>;

const REFERENCE = '#/components/schemas/';

/**
 * Returns the example that a schema declares: its own example, or an example composed of the examples of its parts. An
 * optional property is included if it has an example of its own.
 * @param schemas the schemas that references name
 */
const exampleOf = (schema: JsonSchema, schemas: ExampleSchemas): unknown => {
  const {
    examples,
    const: constant,
    enum: values,
    $ref: reference,
    properties,
    required = [],
    items,
    anyOf,
    oneOf,
  } = schema;
  if (Array.isArray(examples)) return examples[0];
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
  if (typeof reference === 'string') return exampleOf(schemas[reference.slice(REFERENCE.length)]!, schemas);
  const [alternative] = ((anyOf ?? oneOf) as JsonSchema[] | undefined) ?? [];
  if (alternative !== undefined) return exampleOf(alternative, schemas);
  if (items !== undefined) return [exampleOf(items as JsonSchema, schemas)];
  if (properties === undefined) return undefined;
  const shown = Object.entries(properties as ExampleSchemas).filter(
    ([name, property]) => (required as readonly string[]).includes(name) || 'examples' in property,
  );
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property, schemas)]));
};

const CONTACT = { name: 'The operator of this service' };
const LICENSE = { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' };

const ERROR_BODY = '#/components/schemas/ErrorBody';
/** Rejections that apply to any HTTP request: two Host lines, an ambiguous length. */
const BAD_REQUEST: Response = {
  description: 'The request cannot be parsed, or is ambiguous.',
  content: { 'application/json': { schema: { $ref: ERROR_BODY } } },
};

/**
 * Removes duplicate parameters. A header that a controller both describes and reads appears twice; the parameter with
 * the description is kept.
 */
const withoutDuplicates = (parameters: readonly Parameter[]): Parameter[] => {
  const described = new Map<string, Parameter>();
  for (const parameter of parameters) {
    const key = '$ref' in parameter ? parameter.$ref : `${parameter.in} ${parameter.name.toLowerCase()}`;
    const known = described.get(key);
    if (!known || 'description' in parameter) described.set(key, parameter);
  }
  return [...described.values()];
};

const nameOf = (status: string): string =>
  ERROR_CODES[Number(status)]!.toLowerCase().replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

const isShared = (status: string, { description }: Response): boolean =>
  SHARED_FAILURES[Number(status)] === description;

/** The errors of TAXII have a form of their own. */
const TAXII_ERROR: Response['content'] = {
  'application/taxii+json': {
    schema: {
      type: 'object',
      required: ['title', 'description', 'http_status'],
      properties: { title: { type: 'string' }, description: { type: 'string' }, http_status: { type: 'string' } },
    },
    example: { title: 'Not Found', description: 'Object not found', http_status: '404' },
  },
};

type Schemas = Readonly<Record<string, JsonSchema>>;

const errorExample = (status: string, message: string): object => ({ code: ERROR_CODES[Number(status)], message });

/** Adds to each body the example that its schema declares, unless the route itself declares an example. */
const addExamples = ({ requestBody, responses }: Operation, schemas: Schemas): void => {
  const add = ({ content = {} }: Pick<Response, 'content'>, error?: object): void => {
    for (const media of Object.values(content)) {
      if ('example' in media || 'examples' in media) continue;
      const schema = media.schema as JsonSchema;
      const example = schema['$ref'] === ERROR_BODY ? error : exampleOf(schema, schemas);
      if (example !== undefined) media.example = example;
    }
  };
  if (requestBody !== undefined && !('$ref' in requestBody)) add(requestBody);
  for (const [status, response] of Object.entries(responses) as [string, Response][])
    // Nest joins the causes that a route declares for one status with an empty line; an error has one of them.
    add(response, errorExample(status, response.description.split('\n\n')[0]!));
};

/** Adds the parts that all operations share, so that controllers need not repeat them. */
const completeOperation = (method: string, operation: Operation, schemas: Schemas): void => {
  const { responses } = operation;
  operation.security ??= [];
  if (operation.parameters) operation.parameters = withoutDuplicates(operation.parameters);
  responses['400'] ??= structuredClone(BAD_REQUEST);
  if (method === 'get') for (const status of ['413', '415']) delete responses[status];
  if (operation.tags?.includes('TAXII'))
    for (const response of Object.values(responses) as Response[])
      if (response.content?.['application/json']) response.content = structuredClone(TAXII_ERROR);
  for (const [status, response] of Object.entries(responses)) declareHeaders(status, response as Response, operation);
  addExamples(operation, schemas);
};

/** Moves the responses that all routes share to `components`. */
const shareFailures = (document: OpenAPIObject): Record<string, Response> => {
  const shared: Record<string, Response> = {};
  for (const { operation } of operationsOf(document))
    for (const [status, response] of Object.entries(operation.responses) as [string, Response][]) {
      if (operation.tags?.includes('TAXII') || !isShared(status, response)) continue;
      const name = nameOf(status);
      shared[name] ??= response;
      operation.responses[status] = { $ref: `#/components/responses/${name}` };
    }
  return shared;
};

/** Sorts the paths in the order of the tags. */
const arrange = (paths: OpenAPIObject['paths']): OpenAPIObject['paths'] => {
  const order = (item: OpenAPIObject['paths'][string]): number => {
    const [operation] = METHODS.flatMap((method) => item[method] ?? []);
    return TAGS.findIndex(([name]) => name === operation?.tags?.[0]);
  };
  return Object.fromEntries(Object.entries(paths).sort(([, one], [, other]) => order(one) - order(other)));
};

/** Returns the whole reference as OpenAPI 3.1. The application may be in preview mode, in which nothing runs. */
export const createDocument = (app: INestApplication): OpenAPIObject => {
  const settings = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Threat protection')
    .setDescription(DESCRIPTION)
    .setVersion(VERSION)
    // The server is not `/v2`, because generators support only one server, and the health checks are outside `/v2`.
    .addServer('/')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-KEY', description: 'Issued by the operator.' }, 'key')
    .build();
  const created = SwaggerModule.createDocument(app, settings, {
    operationIdFactory: (_controller, method) => method,
    autoTagControllers: false,
  });
  const document = withPlainSchemas(created);
  const schemas = {
    ...document.components!.schemas,
    ...feedSchemas(),
    ...pageSchemas(),
    Feed: FEED_SCHEMA,
    ...openApiSchemas(),
  } as Schemas;
  for (const { method, operation } of operationsOf(document)) completeOperation(method, operation, schemas);
  const responses = shareFailures(document);
  return {
    ...document,
    info: { ...document.info, contact: CONTACT, license: LICENSE },
    tags: TAGS.map(([name, description]) => ({ name, description })),
    paths: arrange(document.paths),
    components: {
      ...document.components,
      schemas,
      responses,
      headers: SHARED_HEADERS,
    },
  } as OpenAPIObject;
};
