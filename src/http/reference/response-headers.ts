import type { Operation, Response } from './document-parts.js';

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
  'WWW-Authenticate': {
    ...text('The authentication scheme: the key is sent as `X-API-KEY`.', 'ApiKey realm="threat-protection"'),
    required: true,
  },
};

const isLimited = (status: string, { security = [], parameters = [], responses }: Operation): boolean => {
  // A response with these statuses is sent before the key has been verified, so there is no limit to report.
  if (security.length === 0 || status === '401' || status === '414') return false;
  // A route's input is read after the key is checked. A route without input can only fail as an HTTP request.
  const readsQuery = parameters.some((parameter) => '$ref' in parameter || parameter.in === 'query');
  return status !== '400' || readsQuery || '415' in responses;
};

/** The successful responses of all routes that require a key have a `Consistency-Token`. */
const hasToken = (status: string, { security = [] }: Operation): boolean =>
  security.length > 0 && (status.startsWith('2') || status === '304');

const namesOf = (status: string, operation: Operation): string[] => [
  'X-Request-Id',
  ...(hasToken(status, operation) ? ['Consistency-Token', 'Preference-Applied'] : []),
  ...(isLimited(status, operation) ? ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] : []),
  ...(status === '429' || status === '503' ? ['Retry-After'] : []),
  ...(status === '401' ? ['WWW-Authenticate'] : []),
];

/** Declares the headers of a response, in addition to the headers that its route declares. */
export const declareHeaders = (status: string, response: Response, operation: Operation): void => {
  const shared = namesOf(status, operation).map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  response.headers = { ...response.headers, ...Object.fromEntries(shared) };
};
