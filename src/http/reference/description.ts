import type { OpenAPIObject } from '@nestjs/swagger';
import { ERROR_CODES } from '../errors/error-body.dto.js';
import { REVALIDATED } from '../responses/send-snapshot.js';

export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
export type Response = Exclude<NonNullable<Operation['responses'][string]>, { $ref: string }>;
export type Parameter = NonNullable<Operation['parameters']>[number];

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Every operation of a document, with its method. */
export const operationsOf = ({ paths }: OpenAPIObject): { method: string; path: string; operation: Operation }[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item[method] === undefined ? [] : [{ method, path, operation: item[method] }])),
  );

type Headers = NonNullable<Response['headers']>;

const text = (description: string, example: string): Headers[string] => ({
  description,
  schema: { type: 'string' },
  example,
});
const count = (description: string, example: number): Headers[string] => ({
  description,
  schema: { type: 'integer', minimum: 0 },
  example,
});

/** Headers that several responses declare, by their name in `components.headers`. */
export const SHARED_HEADERS: Headers = {
  'X-Request-Id': {
    ...text(
      'Identifies this request in the log of the process. A valid id sent by the client (1 to 128 characters of A-Z a-z 0-9 . _ : -) is kept.',
      '7f0d6c1e-5b1e-4d0e-9a43-1f6f0a6c2b11',
    ),
    required: true,
  },
  'Consistency-Token': {
    description:
      'Identifies the state that this response reflects. If a later request sends this value as `Consistency-Token`, its ' +
      'response includes that state, on any instance.',
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[A-Za-z0-9._-]+$' },
    example: 'q3T0cXlW.mZ1v8Qm0w1c9oYb7Jw2dXg',
    required: true,
  },
  'Preference-Applied': text(
    'The `wait` preference that was applied to the `Consistency-Token` of the request.',
    'wait=2',
  ),
  'RateLimit-Limit': count(
    'Requests allowed per minute with this key, in each process of the API. Absent if there is no limit.',
    6000,
  ),
  'RateLimit-Remaining': count('Requests left in this minute, in the process that sent this response.', 5999),
  'RateLimit-Reset': count('Seconds until the minute ends.', 42),
  'Retry-After': { ...count('Seconds to wait before a retry.', 1), required: true },
  'Accept-Encoding': {
    description: 'The compression that is accepted; only for a body in another one.',
    schema: { type: 'string' },
  },
  'WWW-Authenticate': {
    ...text('The authentication scheme: the key is sent as `X-API-KEY`.', 'ApiKey realm="threat-protection"'),
    required: true,
  },
};

/** A 401 or 414 is sent before the key has been verified, so there is no limit to report. */
const isLimited = (status: string, { security = [] }: Operation): boolean =>
  security.length > 0 && status !== '401' && status !== '414';

/** The successful responses of all routes that require a key have a `Consistency-Token`. */
const hasToken = (status: string, { security = [] }: Operation): boolean =>
  security.length > 0 && (status.startsWith('2') || status === '304');

const namesOf = (status: string, operation: Operation): string[] => [
  'X-Request-Id',
  ...(hasToken(status, operation) ? ['Consistency-Token', 'Preference-Applied'] : []),
  ...(isLimited(status, operation) ? ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] : []),
  ...(status === '429' || status === '503' ? ['Retry-After'] : []),
  ...(status === '401' ? ['WWW-Authenticate'] : []),
  ...(status === '415' ? ['Accept-Encoding'] : []),
];

/**
 * Declares the headers of a response, in addition to the headers that its route declares. A response that may be about the
 * past has either `Known-At` or a `Consistency-Token`.
 */
export const declareHeaders = (status: string, response: Response, operation: Operation): void => {
  const shared = namesOf(status, operation).map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  const optional = 'Known-At' in (response.headers ?? {}) && {
    'Consistency-Token': { ...SHARED_HEADERS['Consistency-Token'], required: false },
  };
  response.headers = { ...response.headers, ...Object.fromEntries(shared), ...optional };
};

/** The groups of operations, in reading order. */
export const TAGS: readonly (readonly [name: string, description: string])[] = [
  ['Metrics', 'Reports, blocked threats, watchlisted threats and takedowns, counted at the time of the request.'],
  ['Records', 'The records behind the metrics: lists, tables, and a feed for keeping a copy.'],
  [
    'TAXII',
    'The blocked threats as STIX 2.1 indicators, for SIEMs and threat-intelligence platforms that read TAXII 2.1. Paths may end with a slash. The key is also accepted as `Authorization`, Bearer, Token or Basic.',
  ],
  [
    'Webhooks',
    'Endpoints that receive the feed: each change is sent to a URL, in order, signed as specified by [Standard Webhooks](https://www.standardwebhooks.com), and retried until the endpoint returns a 2xx status.',
  ],
  [
    'Asset check',
    'Checks whether an asset is known to be bad or good, which source says so, and why. UNKNOWN never means safe.',
  ],
  [
    'Asset groups',
    'Named groups for the organization’s assets. A change is visible to the next request, on every instance.',
  ],
  [
    'Organization',
    'What the API key of the request gives access to: its organization, its scopes and its remaining limits.',
  ],
  [
    'Local lists',
    'Lists of hashes in which a client looks up verdicts at home. Absent if the setting `LISTS` is `off`.',
  ],
  [
    'Events',
    'Events that upstream systems report, as CloudEvents 1.0. Acknowledged events are stored on disk. An event that is sent twice counts once.',
  ],
  ['Operations', 'Health checks and monitoring. These routes need no key and are not under `/v2`.'],
];

/** When each error occurs. */
const WHEN: Readonly<Record<number, string>> = {
  400: 'The request is invalid; `issues` lists the problems if the message does not cover them',
  401: 'The key is missing, unknown, revoked or expired, or belongs to no organization; `issues` says what is wrong with the header or the form of the key',
  403: 'The key lacks the scope, or the organization is not allowed to do this',
  404: 'The route, group, brand, record, dispute, webhook or local list does not exist',
  405: 'The route supports only the methods in `Allow`',
  406: 'The client does not accept the media type of TAXII 2.1, or of a local list',
  408: 'The request did not arrive within 10 seconds',
  409: 'The name of the group is taken, the organization has the maximum number of webhooks or open disputes, it has an open dispute about the asset, or the secret was rotated within the last 24 hours',
  410: 'The `lastEventId` or the `Consistency-Token` is from a replaced log, or from a state that a restore has removed',
  413: 'The body is too large: the limit is 65,536 bytes unless the route documents another limit',
  414: 'The URL exceeds 8,192 bytes',
  415: 'The route does not accept this media type, or the body uses a compression other than gzip',
  422: 'The `Idempotency-Key` was used with another body, the disputed asset is not blocked, or the response would be too large',
  429: 'Too many requests, too much data in flight, or the daily quota is used up; retry after `Retry-After` seconds',
  431: 'The headers are larger than 16 KiB',
  500: 'An internal error; the log of the process contains the details under the `X-Request-Id` of the response',
  503: 'The event log or the database did not respond; it is safe to retry after `Retry-After` seconds',
};

/** The rows of the table of errors: status, code and when. Markdown. */
export const ERROR_ROWS = Object.entries(ERROR_CODES)
  .map(([status, code]) => `| ${status} | \`${code}\` | ${WHEN[Number(status)]} |`)
  .join('\n');

/** Markdown. */
export const DESCRIPTION = `Metrics, records, asset check, asset groups and webhooks of one organization. The API key, which is sent as
\`X-API-KEY\`, determines the organization.

Each response carries \`X-Request-Id\`, \`Date\` and \`Cache-Control: private, no-store\`; a response that a client may
keep and revalidate has an \`ETag\` and \`Cache-Control: ${REVALIDATED}\`. Unknown fields and query
parameters of a request are ignored, but a query parameter that only other routes have is a 400. Instants are ISO 8601 in
UTC, and days are UTC days. Within a version, responses may gain fields and codes, but no field or code is removed.

## Errors

Every error has the same body, \`{ code, message, issues? }\`. \`code\` is for programs, \`message\` for people.

| status | code | when |
| --- | --- | --- |
${ERROR_ROWS}

Any URL may return 404, 405, 408 or 431. The errors 401, 414, 429, 500 and 503 are the same on every route; their examples
are under \`components.responses\`.`;
