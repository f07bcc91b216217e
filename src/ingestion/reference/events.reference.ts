import { applyDecorators } from '@nestjs/common';
import { ApiHeaders, ApiOperation, type ApiOperationOptions, ApiResponse } from '@nestjs/swagger';
import { ATTRIBUTES, EXAMPLES } from '../../events/cloud-event-schema.js';
import type { JsonSchema } from '../../events/declaring/fields.js';
import { ErrorBody } from '../../http/errors/error-body.dto.js';
import { BATCH, BINARY, STRUCTURED } from '../receive/content-mode.js';
import { HOW_TO_SEND } from './how-to-send.js';
import { MAX_EVENTS } from '../receive/event-limits.js';

const refTo = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

const DESCRIPTION = `One event as \`${STRUCTURED}\`, up to ${MAX_EVENTS.toLocaleString('en')} as \`${BATCH}\`, or one in
binary mode: its data as \`${BINARY}\`, its attributes in \`ce-\` headers, percent-encoded unless ASCII.

${HOW_TO_SEND}

\`GET /asyncapi.json\` has the same events as AsyncAPI 3.

\`accepted\`, \`duplicates\` and \`rejected\` add up to the number of events sent. The good events of a batch are kept, whatever the
others are; where all are rejected the answer is 400, with the same \`rejected\`. \`warnings\` names events that were taken as
they are, though they look like a mistake: \`updatedAt\` before \`createdAt\`, blank content, an ADDRESS that is none.

With \`dryRun=true\` nothing is stored: the answer is what the request would be answered now, and \`events\` says of each event
that would be accepted what it would count as, after those before it. With the log in EventStoreDB \`duplicates\` are then
recognised among the last 100 events of a record.

\`OPTIONS\` with
\`WebHook-Request-Origin\` answers the handshake of the CloudEvents WebHook specification.`;

/** The example event of binary mode, as parameters and body. */
const SHOWN = EXAMPLES[0]!;

const content = {
  [STRUCTURED]: {
    schema: refTo('CloudEvent'),
    examples: Object.fromEntries(EXAMPLES.map((event) => [event.type, { value: event }])),
  },
  [BATCH]: {
    schema: { type: 'array', maxItems: MAX_EVENTS, items: refTo('CloudEvent') },
    examples: { all: { summary: 'One event of each type', value: EXAMPLES } },
  },
  [BINARY]: {
    schema: refTo('EventData'),
    examples: { [SHOWN.type]: { summary: 'With the ce- headers of the examples', value: SHOWN.data } },
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

/** Documents `POST /v2/events`: a schema per media type, with examples that are accepted as they are. */
export const ApiSendEvents = (): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      summary: 'Report what happened upstream, as CloudEvents 1.0',
      description: DESCRIPTION,
      requestBody,
    }),
    ApiHeaders(
      HEADERS.map((name) => ({
        name: `ce-${name}`,
        required: false,
        description: `The attribute \`${name}\`, with \`${BINARY}\` only; there it is required.`,
        schema: headerSchema(name) as object,
        example: SHOWN[name],
      })),
    ),
    ApiResponse({
      status: 400,
      description: 'All events were rejected, or the request is invalid; `issues` says where.',
      type: ErrorBody,
    }),
    ApiResponse({
      status: 429,
      description:
        'Too many requests with this key, too much of the organization at once or waiting to be counted, or its quota of the day is used up; `Retry-After` says when to try again.',
      type: ErrorBody,
    }),
  );
