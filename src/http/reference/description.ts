import { ERROR_CODES } from '../errors/error-codes.js';

/** The groups of operations, in reading order. */
export const TAGS: readonly (readonly [name: string, description: string])[] = [
  ['Metrics', 'Reports, blocked threats, watchlist and takedowns, counted at the moment of the request.'],
  ['Records', 'The records behind the numbers: lists, tables, and a feed to keep a copy by.'],
  [
    'Webhooks',
    'The feed, delivered: changes are sent to an address, in order, signed as [Standard Webhooks](https://www.standardwebhooks.com) says, until they are answered with 2xx.',
  ],
  [
    'Asset check',
    'Whether an asset is known to be bad or good, which source says so, and why. UNKNOWN never means safe.',
  ],
  [
    'Asset groups',
    'Named groups for the organization’s assets. A change is seen by the next request, on every instance.',
  ],
  ['Organization', 'What the request’s key gives access to: its organization, scopes, and what is left of its limits.'],
  [
    'Events',
    'What happened upstream, reported as CloudEvents 1.0. Acknowledged means on disk; sent twice counts once.',
  ],
  ['Operations', 'For probes and monitoring. These routes need no key and are not under `/v2`.'],
];

/** When each error occurs. */
const WHEN: Readonly<Record<number, string>> = {
  400: 'The request is invalid; `issues` says where, if the message does not',
  401: 'The key is missing, unknown, revoked or expired, or names no organization',
  403: 'The key lacks the scope, or the organization may not do this',
  404: 'No such route, group, brand, record or webhook',
  405: 'The route exists for the methods in `Allow`',
  408: 'The request did not arrive within 10 seconds',
  409: 'The name is taken, there are as many as there may be, or it was done a short time ago',
  410: 'The `lastEventId` or the `Consistency-Token` is of a log, or of a state of it, that was lost',
  413: 'The body is too large: 65,536 bytes unless the route says otherwise',
  414: 'The URL exceeds 8,192 bytes',
  415: 'The route does not accept this media type, or the body is compressed with anything but gzip',
  422: 'The request contradicts an earlier one, or its answer would be too large',
  429: 'Too many requests with this key, or too much at once; retry after `Retry-After` seconds',
  431: 'The headers are larger than 16 KiB',
  500: 'An internal error; the log has the details under `X-Request-Id`',
  503: 'The log or the database did not answer; it is safe to retry after `Retry-After` seconds',
};

const errorTable = Object.entries(ERROR_CODES)
  .map(([status, code]) => `| ${status} | \`${code}\` | ${WHEN[Number(status)]} |`)
  .join('\n');

/** Markdown. */
export const DESCRIPTION = `Metrics, asset check and asset groups of one organization. The organization is never part of a
request: it is that of the API key, sent as \`X-API-KEY\`.

Each answer carries \`X-Request-Id\`, \`Date\` and \`Cache-Control: private, no-store\`. Unknown fields and query parameters of
a request are ignored. Instants are ISO 8601 in UTC, days are UTC days. Answers may gain fields and codes within a version;
none are removed.

## Errors

Every error has one body, \`{ code, message, issues? }\`. \`code\` is for programs, \`message\` for people.

| status | code | when |
| --- | --- | --- |
${errorTable}

Any address may answer 404, 405, 408 and 431. 401, 414, 429, 500 and 503 are the same on every route; their examples are
under \`components.responses\`.`;
