import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { JsonSchema } from '../../events/declaring/fields.js';
import { FEED_SCHEMA, feedSchemas, pageSchemas } from '../../events/feed-schema.js';
import { openApiSchemas } from '../../events/cloud-event-schema.js';
import { SHARED_FAILURES } from '../access/access.js';
import { ERROR_CODES } from '../errors/error-codes.js';
import { VERSION } from '../../runtime/version.js';
import { declareHeaders, SHARED_HEADERS } from './response-headers.js';
import { DESCRIPTION, TAGS } from './description.js';
import { METHODS, type Operation, operationsOf, type Parameter, type Response } from './document-parts.js';
import { exampleOf } from './examples.js';
import { withPlainSchemas } from './plain-schemas.js';

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
  for (const [status, response] of Object.entries(responses)) declareHeaders(status, response as Response, operation);
  addExamples(operation, schemas);
};

/** Moves the responses that all routes share to `components`. */
const shareFailures = (document: OpenAPIObject): Record<string, Response> => {
  const shared: Record<string, Response> = {};
  for (const { operation } of operationsOf(document))
    for (const [status, response] of Object.entries(operation.responses) as [string, Response][]) {
      if (!isShared(status, response)) continue;
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
