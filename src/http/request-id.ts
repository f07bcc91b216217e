import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Request ids that a caller may choose. Only these characters are safe in a header and in the log. */
const VALID_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Returns the id of a request in the log and in its response: the caller's id if it is valid, otherwise a new one. */
export const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && VALID_ID.test(given) ? given : randomUUID();
};
