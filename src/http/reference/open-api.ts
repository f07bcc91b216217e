import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { errorBody } from '../errors/error-response.js';
import { serveDocs } from './docs.js';
import { keepAnswer, onceMade, sendKept } from './kept-answer.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Response = Exclude<NonNullable<Operation['responses'][string]>, { $ref: string }>;
type Headers = NonNullable<Response['headers']>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const text = (description: string): Headers[string] => ({ description, schema: { type: 'string' } });
const count = (description: string): Headers[string] => ({ description, schema: { type: 'integer' } });

const ALWAYS: Headers = {
  'X-Request-Id': text(
    'Names this request in the log. A sane one that was sent in (1 to 128 of A-Z a-z 0-9 . _ : -) is kept.',
  ),
};
const LIMITED: Headers = {
  'RateLimit-Limit': count('Requests a minute with this key.'),
  'RateLimit-Remaining': count('What is left of them.'),
  'RateLimit-Reset': count('Seconds until they begin anew.'),
};
const RETRY: Headers = { 'Retry-After': count('Seconds after which asking again makes sense.') };

const BODY_ERRORS: Readonly<Record<string, string>> = {
  413: 'The body is larger than the route takes (65,536 bytes, unless it says otherwise).',
  415: 'The body is of another media type than the route takes.',
};

/** One true answer for each status. */
const EXAMPLES: Readonly<Record<string, string>> = {
  400: 'Invalid date format, use ISO 8601 format',
  401: 'API key with organization access required',
  403: 'The key lacks the scope read',
  404: 'Brand not found',
  409: 'A group with this name already exists',
  422: 'This Idempotency-Key was used with another body',
  429: 'Too many requests with this key; go on after the seconds that Retry-After says',
  503: 'The database did not answer; try again',
};

const errorResponse = (description: string): Response => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorBody' } } },
});

const completeResponse = (status: string, response: Response, operation: Operation): void => {
  response.headers = {
    ...response.headers,
    ...ALWAYS,
    ...(operation.security !== undefined && LIMITED),
    ...((status === '429' || status === '503') && RETRY),
  };
  const json = response.content?.['application/json'];
  const isError = JSON.stringify(json?.schema ?? {}).includes('schemas/ErrorBody');
  if (json && isError && json.example === undefined && json.examples === undefined)
    json.example = errorBody(
      Number(status),
      status === '400' && operation.requestBody ? 'The body is not valid JSON' : EXAMPLES[status],
    );
};

/** A header that a controller both describes and takes is found twice; the described one stays. */
const onceEach = (parameters: NonNullable<Operation['parameters']>): NonNullable<Operation['parameters']> => {
  const described = new Map<string, (typeof parameters)[number]>();
  for (const parameter of parameters) {
    const key = '$ref' in parameter ? parameter.$ref : `${parameter.in} ${parameter.name.toLowerCase()}`;
    const known = described.get(key);
    if (!known || 'description' in parameter) described.set(key, parameter);
  }
  return [...described.values()];
};

/** What every operation has in common and no controller should have to repeat. */
const complete = (document: OpenAPIObject): OpenAPIObject => {
  for (const path of Object.values(document.paths))
    for (const operation of METHODS.flatMap((method) => path[method] ?? [])) {
      if (operation.parameters) operation.parameters = onceEach(operation.parameters);
      if (operation.requestBody)
        for (const [status, description] of Object.entries(BODY_ERRORS))
          operation.responses[status] ??= errorResponse(description);
      for (const [status, response] of Object.entries(operation.responses))
        if (response && !('$ref' in response)) completeResponse(status, response, operation);
    }
  return document;
};

const DESCRIPTION = `Threat protection for organizations: metrics, asset check and asset groups over an event log.

The organization is never part of a request: it is the one of the API key, sent as \`X-API-KEY\`.
Every error has one body: \`{ code, message, issues? }\`. Beside the answers listed at each route there are
404 \`NOT_FOUND\` (no such address), 405 \`METHOD_NOT_ALLOWED\` (with \`Allow\`), 408 \`REQUEST_TIMEOUT\` (not
sent within 10 seconds) and 431 \`REQUEST_HEADER_FIELDS_TOO_LARGE\` (headers over 16 KiB).`;

/** Serves the reference: `/openapi.json`, and `/docs` for people, from memory and without another server. */
export const serveOpenApi = (app: NestFastifyApplication): void => {
  const settings = new DocumentBuilder()
    .setTitle('Threat protection')
    .setDescription(DESCRIPTION)
    .setVersion('2.0.0')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-KEY' }, 'key')
    .build();
  const document = onceMade(async () =>
    keepAnswer(
      'application/json; charset=utf-8',
      JSON.stringify(complete(SwaggerModule.createDocument(app, settings))),
    ),
  );
  const instance = app.getHttpAdapter().getInstance();
  instance.get('/openapi.json', async (request, reply) => sendKept(await document(), request, reply));
  serveDocs(instance);
};
