import { applyDecorators } from '@nestjs/common';
import { ApiHeaders, ApiOperation, type ApiOperationOptions, ApiResponse } from '@nestjs/swagger';
import { ATTRIBUTES, EXAMPLES } from '../../events/cloud-event-schema.js';
import type { JsonSchema } from '../../events/declaring/fields.js';
import { ErrorBody } from '../../http/errors/error-body.dto.js';
import { BATCH, BINARY, STRUCTURED } from '../receive/content-mode.js';
import { HOW_TO_SEND } from './how-to-send.js';
import { MAX_EVENTS } from '../receive/event-limits.js';

const refTo = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

const DESCRIPTION = `The body is one event as \`${STRUCTURED}\`, or up to ${MAX_EVENTS.toLocaleString('en')} events as \`${BATCH}\`.
One event can also be sent in binary mode, with its data as \`${BINARY}\` and its attributes in \`ce-\` headers, which must be
percent-encoded unless they are ASCII.

${HOW_TO_SEND}

\`GET /asyncapi.json\` describes the same events as AsyncAPI 3.

\`accepted\`, \`duplicates\` and \`rejected\` add up to the number of events sent. Valid events of a batch are
stored even if others are rejected. If all events are rejected, the response is 400, with the same \`rejected\`. \`warnings\` lists
events that were accepted unchanged but look like a mistake: \`updatedAt\` is before \`createdAt\`, the content is blank, the
content of an ADDRESS is not a valid address, or a status blocks a host that a guard of the asset check contains.

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
