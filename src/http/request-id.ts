import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request id that a caller may choose: it ends in a header and in the log, so nothing but these characters. */
const SANE = /^[A-Za-z0-9._:-]{1,128}$/;

/** What a request is called in the log and in its answer: as the caller has named it, or a name of ours. */
export const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : randomUUID();
};
