import { ASSET_TYPES } from '../../events/asset-types.js';
import { UPSTREAM_TYPES } from '../../events/event.js';
import { MAX_ID_LENGTH } from '../../events/event-id.js';
import { MAX_LIST } from '../../events/declaring/reading.js';
import { DEEPEST, MAX_TOKENS } from '../../json/slices.js';
import { MAX_BODY, MAX_EVENTS } from '../receive/event-limits.js';
import { OWN_KEY_TYPES } from '../receive/permission.js';

const number = (value: number): string => value.toLocaleString('en');
const codes = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** What a producer has to know besides the schemas, for both references. Markdown. */
export const HOW_TO_SEND = `Each event carries the full state of the record it is about. The newest state is determined by \`updatedAt\`
(\`createdAt\` of an entry of the status history) or \`deletedAt\`, never by the order of arrival, so events may be
sent late, again and in any order. Answered means on disk; not answered means: send it again, nothing counts twice.

\`type\` determines \`data\`: \`GET /schemas\` lists the JSON Schema of each. \`dataschema\` may name it, and is not
read. Fields that no schema names are ignored and not stored; attributes that are not read refuse nothing. In place of
\`data\`, \`data_base64\` may hold the same JSON in base64.

| limit | |
| --- | --- |
| events of a request | ${number(MAX_EVENTS)}; more are 413, none is fine |
| body of a request | ${number(MAX_BODY)} bytes (8 MiB), after decompression of \`Content-Encoding: gzip\`; otherwise 413 |
| one event | ${DEEPEST} levels deep, ${number(MAX_TOKENS)} brackets, commas and colons |
| \`source\`, \`id\` | ${number(MAX_ID_LENGTH)} characters each, no control characters |
| brands of a report, reviews of a status entry | ${MAX_LIST} |
| instants | from 1970 on, at most 24 hours in the future; from an organization's own key 5 minutes |
| any string | no U+0000, no lone surrogates |

A key of one organization sends that organization's ${codes(UPSTREAM_TYPES.filter((type) => OWN_KEY_TYPES.has(type)))},
of these asset types: ${[...ASSET_TYPES].join(', ')}. ${codes(UPSTREAM_TYPES.filter((type) => !OWN_KEY_TYPES.has(type)))}
need a key without an organization; it sends events of every organization.`;
