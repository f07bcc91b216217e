import { ASSET_TYPES } from '../../events/asset-types.js';
import { UPSTREAM_TYPES } from '../../events/event.js';
import { MAX_ID_LENGTH } from '../../events/event-id.js';
import { MAX_LIST } from '../../events/declaring/validation.js';
import { MAX_DEPTH, MAX_TOKENS } from '../../http/json/slices.js';
import { MAX_BODY, MAX_EVENTS } from '../receive/event-limits.js';
import { OWN_KEY_TYPES } from '../receive/permission.js';

const number = (value: number): string => value.toLocaleString('en');
const codes = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** The instructions for senders in both references. Markdown. */
export const HOW_TO_SEND = `Each event carries the full state of the record that the event is about. The newest state is determined by
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
