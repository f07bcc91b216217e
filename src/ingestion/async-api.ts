import { EXAMPLES, eventSchemas } from '../events/cloud-event-schema.js';
import type { UpstreamDeclaration } from '../events/declaration.js';
import { UPSTREAM } from '../events/event.js';
import { BATCH, BINARY, STRUCTURED } from './content-mode.js';
import { HOW_TO_SEND } from './how-to-send.js';

const DESCRIPTION = `The events that feed the service: CloudEvents 1.0 over HTTP. A message is one event in structured mode
(\`${STRUCTURED}\`). A list of them may be sent as \`${BATCH}\`, or one in binary mode: \`data\` as
\`${BINARY}\`, the attributes in \`ce-\` headers. \`GET /openapi.json\` has the request and its answers.

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

/** `$ref`s to the messages under `base`. */
const refs = (base: string): [type: string, ref: { $ref: string }][] =>
  Object.keys(messages).map((type) => [type, { $ref: `${base}/${type}` }]);

/** The events as AsyncAPI 3, from the receiver's point of view. */
export const asyncApi = (): object => ({
  asyncapi: '3.1.0',
  info: { title: 'Threat protection: events', version: '2.0.0', description: DESCRIPTION },
  defaultContentType: STRUCTURED,
  channels: {
    events: {
      address: '/v2/events',
      description: 'Everything that upstream reports.',
      messages: Object.fromEntries(refs('#/components/messages')),
    },
  },
  operations: {
    sendEvents: {
      action: 'receive',
      channel: { $ref: '#/channels/events' },
      summary: 'Report what happened upstream.',
      security: [{ $ref: '#/components/securitySchemes/key' }],
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      messages: refs('#/channels/events/messages').map(([, ref]) => ref),
    },
  },
  components: {
    messages,
    schemas: eventSchemas(),
    securitySchemes: {
      key: { type: 'httpApiKey', name: 'X-API-KEY', in: 'header', description: 'A key of scope `ingest`.' },
    },
  },
});
