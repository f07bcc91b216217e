import { EXAMPLES, eventSchemas } from '../../events/cloud-event-schema.js';
import type { UpstreamDeclaration } from '../../events/declaring/declaration.js';
import { UPSTREAM } from '../../events/event.js';
import { FEED_MESSAGES, FEED_SOURCE, feedSchemas } from '../../events/feed-schema.js';
import { BATCH, BINARY, STRUCTURED } from '../receive/content-mode.js';
import { HOW_TO_SEND } from './how-to-send.js';
import { VERSION } from '../../runtime/version.js';

const DESCRIPTION = `The events that feed the service: CloudEvents 1.0 over HTTP. A message is one event in structured mode
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
    description: DESCRIPTION,
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
