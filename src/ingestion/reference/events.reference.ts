import { applyDecorators } from '@nestjs/common';
import { ApiHeaders, ApiOperation, type ApiOperationOptions, ApiResponse } from '@nestjs/swagger';
import { ASSET_TYPES } from '../../events/asset-types.js';
import { UPSTREAM_TYPES, UPSTREAM } from '../../events/event.js';
import { MAX_ID_LENGTH } from '../../events/streams.js';
import { MAX_LIST, type JsonSchema } from '../../events/declaring/fields.js';
import { MAX_DEPTH, MAX_TOKENS } from '../../http/json.js';
import { MAX_BODY, MAX_EVENTS, BATCH, BINARY, STRUCTURED } from '../receive/content-mode.js';
import { OWN_KEY_TYPES } from '../receive/decide-events.js';
import { EXAMPLES, eventSchemas, ATTRIBUTES } from '../../events/cloud-event-schema.js';
import type { UpstreamDeclaration } from '../../events/declaring/declaration.js';
import { FEED_MESSAGES, FEED_SOURCE, feedSchemas } from '../../events/feed-schema.js';
import { VERSION } from '../../runtime/version.js';
import { ErrorBody } from '../../http/errors/error-body.dto.js';

const number = (value: number): string => value.toLocaleString('en');
const codes = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** The instructions for senders in both references. Markdown. */
const HOW_TO_SEND = `Each event carries the full state of the record that the event is about. The newest state is determined by
\`updatedAt\` (\`createdAt\` for an entry of the status history, \`resolvedAt\` for a dispute) or \`deletedAt\`, never by the order of arrival. Events can
therefore be sent late, repeatedly and in any order. Acknowledged events are stored on disk. If there is no response, send the
events again; an event is never counted twice.

\`type\` determines the schema of \`data\`; \`GET /schemas\` lists the JSON Schema of each type. \`dataschema\` may name the
schema, but is ignored. Unknown fields are ignored and not stored. Unknown attributes are ignored. Instead of \`data\`,
\`data_base64\` may contain the same JSON in base64.

| limit | |
| --- | --- |
| events of a request | at most ${number(MAX_EVENTS)}; a request with more events returns 413, and an empty batch is accepted |
| body of a request | at most ${number(MAX_BODY)} bytes (8 MiB), after decompression of \`Content-Encoding: gzip\`; a larger body returns 413 |
| one event | at most ${MAX_DEPTH} levels of nesting, and at most ${number(MAX_TOKENS)} brackets, commas and colons |
| \`source\`, \`id\` | at most ${number(MAX_ID_LENGTH)} characters each, no control characters |
| brands of a report, reviews of a status entry | at most ${MAX_LIST} |
| instants | not before 1970, and at most 24 hours in the future, or at most 5 minutes if an organization's own key sends the event |
| any string | no U+0000, no lone surrogates |

A key of an organization can send that organization's ${codes(UPSTREAM_TYPES.filter((type) => OWN_KEY_TYPES.has(type)))},
with these asset types: ${[...ASSET_TYPES].join(', ')}. ${codes(UPSTREAM_TYPES.filter((type) => !OWN_KEY_TYPES.has(type)))}
need a key without an organization, which can send events of every organization.`;

const ASYNC_API_DESCRIPTION = `The events that feed the service: CloudEvents 1.0 over HTTP. A message is one event in structured mode
(\`${STRUCTURED}\`). A list of events can be sent as \`${BATCH}\`. One event can also be sent in binary mode, with
\`data\` as \`${BINARY}\` and the attributes in \`ce-\` headers. \`GET /openapi.json\` describes the request and its responses.

${HOW_TO_SEND}`;

const messages = Object.fromEntries(
  UPSTREAM.map(({ type, description }: UpstreamDeclaration) => [
    type,
    {
      name: type,
      title: type,
      summary: description,
      contentType: STRUCTURED,
      payload: { $ref: `#/components/schemas/${type}Event` },
      examples: EXAMPLES.filter((event) => event.type === type).map((payload) => ({ name: type, payload })),
    },
  ]),
);

const feedMessages = Object.fromEntries(
  FEED_MESSAGES.map((name) => [
    name,
    {
      name,
      title: name,
      summary: feedSchemas()[name]!['description'],
      contentType: STRUCTURED,
      payload: { $ref: `#/components/schemas/${name}` },
    },
  ]),
);

/** `$ref`s to the messages under `base`. */
const refs = (base: string): [type: string, ref: { $ref: string }][] =>
  Object.keys(messages).map((type) => [type, { $ref: `${base}/${type}` }]);

/** The events as AsyncAPI 3.0, from the receiver's point of view. */
export const asyncApi = (): object => ({
  // The version is 3.0, because the generators of the AsyncAPI project do not support 3.1 yet.
  asyncapi: '3.0.0',
  info: {
    title: 'Threat protection: events',
    version: VERSION,
    description: ASYNC_API_DESCRIPTION,
    contact: { name: 'The operator of this service' },
    license: { name: 'Proprietary' },
    tags: [{ name: 'Events', description: 'Events that upstream systems report.' }],
  },
  defaultContentType: STRUCTURED,
  servers: {
    service: {
      host: '{host}',
      protocol: 'https',
      description: 'The address where the operator runs the service. Plain HTTP is used if no proxy terminates TLS.',
      variables: { host: { default: '127.0.0.1:3000', description: 'Host name or IP address, and port.' } },
    },
  },
  channels: {
    events: {
      address: '/v2/events',
      description: 'All events that upstream reports.',
      messages: Object.fromEntries(refs('#/components/messages')),
    },
    feed: {
      address: FEED_SOURCE,
      description: 'The changes of the records of an organization.',
      messages: Object.fromEntries(FEED_MESSAGES.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
    },
  },
  operations: {
    getFeed: {
      action: 'send',
      channel: { $ref: '#/channels/feed' },
      summary: 'Read the changes of the records of an organization.',
      description:
        'HTTP Feeds: returns a batch of CloudEvents after `lastEventId`. Each record appears once, in its newest state.',
      security: [{ $ref: '#/components/securitySchemes/readKey' }],
      bindings: { http: { method: 'GET', bindingVersion: '0.3.0' } },
      messages: FEED_MESSAGES.map((name) => ({ $ref: `#/channels/feed/messages/${name}` })),
    },
    sendEvents: {
      action: 'receive',
      channel: { $ref: '#/channels/events' },
      summary: 'Report events to this service.',
      description:
        'Acknowledged events are stored on disk. If there is no response, send the events again; an event is never counted twice.',
      security: [{ $ref: '#/components/securitySchemes/key' }],
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      messages: refs('#/channels/events/messages').map(([, ref]) => ref),
    },
  },
  components: {
    messages: { ...messages, ...feedMessages },
    schemas: { ...eventSchemas(), ...feedSchemas() },
    securitySchemes: {
      key: { type: 'httpApiKey', name: 'X-API-KEY', in: 'header', description: 'A key of scope `ingest`.' },
      readKey: { type: 'httpApiKey', name: 'X-API-KEY', in: 'header', description: 'A key of scope `read`.' },
    },
  },
});

const refTo = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

const DESCRIPTION = `The body is one event as \`${STRUCTURED}\`, or up to ${MAX_EVENTS.toLocaleString('en')} events as \`${BATCH}\`.
One event can also be sent in binary mode, with its data as \`${BINARY}\` and its attributes in \`ce-\` headers, which must be
percent-encoded unless they are ASCII.

${HOW_TO_SEND}

\`GET /asyncapi.json\` describes the same events as AsyncAPI 3.

\`accepted\`, \`duplicates\` and \`rejected\` add up to the number of events sent. Valid events of a batch are
stored even if others are rejected. If all events are rejected, the response is 400, with the same \`rejected\`. \`warnings\` lists
events that were accepted unchanged but look like a mistake: \`updatedAt\` is before \`createdAt\`, the content is blank, the
content of an ADDRESS is not a valid address, the content of a URL is a link that is read as something else than its host,
the status or the asset type is none of the documented ones, a status blocks a host that a guard of the asset check
contains, or no API key belongs to the organization (once per organization, for a key without an organization).

With \`dryRun=true\` nothing is stored. The response is the same as without \`dryRun\`, and also lists in
\`events\` the metrics that each accepted event would change. Events earlier in the request are taken into account. If
the log is in EventStoreDB, a dry run recognises \`duplicates\` only among the last 100 events of a record.

\`OPTIONS\` with \`WebHook-Request-Origin\` performs the handshake of the CloudEvents WebHook specification.`;

/** The example event for the headers and the body of binary mode. */
const BINARY_EXAMPLE = EXAMPLES[0]!;

/** The batch is first: client generators use only the first media type, and a batch may contain one event. */
const content = {
  [BATCH]: {
    schema: { type: 'array', maxItems: MAX_EVENTS, items: refTo('CloudEvent') },
    examples: {
      one: { summary: 'One event', value: EXAMPLES.slice(0, 1) },
      all: { summary: 'One event of each type', value: EXAMPLES },
    },
  },
  [STRUCTURED]: {
    schema: refTo('CloudEvent'),
    examples: Object.fromEntries(EXAMPLES.map((event) => [event.type, { value: event }])),
  },
  [BINARY]: {
    schema: refTo('EventData'),
    examples: {
      [BINARY_EXAMPLE.type]: {
        summary: 'Send this body with the example values of the ce- headers',
        value: BINARY_EXAMPLE.data,
      },
    },
  },
};

const requestBody = { required: true, content } as ApiOperationOptions['requestBody'];

const HEADERS = ['specversion', 'id', 'source', 'type', 'time'] as const;

/** The schema of the raw header; the attribute is its decoded value. */
const headerSchema = (name: (typeof HEADERS)[number]): JsonSchema => {
  if (name === 'type') return { type: 'string', enum: EXAMPLES.map(({ type }) => type) };
  if (name === 'id' || name === 'source') return { type: 'string', minLength: 1 };
  const { description: _, ...schema } = ATTRIBUTES[name]!;
  return schema;
};

/** Documents `POST /v2/events`: a schema per media type, with examples that the API accepts unchanged. */
export const ApiSendEvents = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      summary: 'Send upstream events as CloudEvents 1.0',
      description: DESCRIPTION,
      requestBody,
    }),
    ApiHeaders(
      HEADERS.map((name) => ({
        name: `ce-${name}`,
        required: false,
        description: `The attribute \`${name}\`. Used only with \`${BINARY}\`, where it is required.`,
        schema: headerSchema(name) as object,
        example: BINARY_EXAMPLE[name],
      })),
    ),
    ApiResponse({
      status: 400,
      description: 'All events were rejected; `rejected` lists the problems of each event.',
      type: ErrorBody,
    }),
    ApiResponse({
      status: 429,
      description:
        'Too many events of the organization are waiting to be counted, or the daily quota of the organization is used up.',
      type: ErrorBody,
    }),
  );
