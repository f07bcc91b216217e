import { applyDecorators } from '@nestjs/common';
import { ApiHeaders, ApiOperation, type ApiOperationOptions } from '@nestjs/swagger';
import { ATTRIBUTES, EXAMPLES } from '../events/cloud-event-schema.js';
import type { JsonSchema } from '../events/fields.js';
import { BATCH, BINARY, STRUCTURED } from './content-mode.js';
import { HOW_TO_SEND } from './how-to-send.js';
import { MAX_EVENTS } from './limits.js';

const refTo = (name: string): { $ref: string } => ({ $ref: `#/components/schemas/${name}` });

const DESCRIPTION = `One event as \`${STRUCTURED}\`, up to ${MAX_EVENTS.toLocaleString('en')} as \`${BATCH}\`, or one in
binary mode: its data as \`${BINARY}\`, its attributes in \`ce-\` headers, percent-encoded unless ASCII.

${HOW_TO_SEND}

\`GET /asyncapi.json\` has the same events as AsyncAPI 3.

\`accepted\`, \`duplicates\` and \`rejected\` add up to the number of events sent. The good events of a batch are kept, whatever the
others are; where all are rejected the answer is 400, with the same \`rejected\`. \`OPTIONS\` with
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
  );
