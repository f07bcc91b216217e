import { STATUS_CODES } from 'node:http';
import type { FastifyReply } from 'fastify';
import { readAccepted } from './responses/accept.js';

/** The path below which the service speaks TAXII 2.1. */
export const TAXII_PATH = 'taxii2';
const IS_TAXII = new RegExp(`^/${TAXII_PATH}(?=[/?]|$)`);
/** The media type of every response below that path, errors included. */
export const TAXII_TYPE = 'application/taxii+json;version=2.1';
export const TAXII_CHALLENGE = { 'www-authenticate': 'Basic realm="threat-protection", charset="UTF-8"' };

/**
 * Prepares a response: names the headers that it depends on, and keeps Fastify from adding a charset to the media type
 * of a text, because clients compare the media type as a whole.
 */
export const asTaxii = (reply: FastifyReply): FastifyReply =>
  reply.header('vary', 'X-API-KEY, Authorization, Accept').serializer(String);

export const isTaxii = (url: string): boolean => IS_TAXII.test(url);

/** Removes the slash at the end of a TAXII path, so that both forms are one route. */
export const withoutEndSlash = (url: string): string => {
  if (!isTaxii(url)) return url;
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  return path.endsWith('/') ? path.slice(0, -1) + url.slice(path.length) : url;
};

/** The error message of TAXII. */
export const taxiiError = (status: number, description: string, issues: readonly string[] = []): string =>
  JSON.stringify({
    title: STATUS_CODES[status] ?? 'Error',
    description: [description, ...issues.filter((issue) => issue !== description)].join('; '),
    http_status: String(status),
  });

/** Whether a client accepts TAXII 2.1. The most specific range decides. @param accept the header `Accept` */
export const acceptsTaxii = (accept = ''): boolean => {
  if (accept.trim() === '') return true;
  const ranges = accept.split(',').map(readAccepted);
  const ofType = ranges.filter(({ type }) => type === 'application/taxii+json');
  const found =
    ofType.find(({ version }) => version === '2.1') ??
    ofType.find(({ version }) => version === undefined) ??
    ranges.find(({ type }) => type === 'application/*') ??
    ranges.find(({ type }) => type === '*/*');
  return found !== undefined && found.weight > 0;
};
