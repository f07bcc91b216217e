import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The request ids a caller may choose: they end up in a header and in the log, so only these characters. */
const SANE = /^[A-Za-z0-9._:-]{1,128}$/;

/** The request's id in the log and in its answer: the caller's, or a new one. */
export const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID();
};
