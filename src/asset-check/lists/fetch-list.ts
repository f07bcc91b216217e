import * as http from 'node:http';
import * as https from 'node:https';
import type { LookupFunction } from 'node:net';
import { type Body, ListRefused } from './collector.js';
import { AddressRefused, Destinations, hostOf, knowing } from '../../egress/destinations.js';
import { Reach } from '../../egress/reach.js';

/** For a conditional request, which the server can answer with 304. */
export interface Validators {
  readonly etag?: string;
  readonly lastModified?: string;
}

export interface FetchedList {
  /** Absent: not modified. */
  readonly body?: Body;
  readonly validators: Validators;
}

/** Where a redirect may lead. */
const INTERNET = new Destinations(new Reach([]));

/** Replaces the error of an aborted request by one that says the time was up. */
type OrLate = (error: unknown) => unknown;

const MAX_REDIRECTS = 5;
const AGENT = 'threat-protection/2.0 (+list refresh)';

/**
 * Fetches a list from the address the operator configured, which may be private. A redirect may only lead to a public
 * address: the remote server does not decide which hosts this one talks to.
 * @param timeoutMs for everything, redirects and reading the body included
 * @throws ListRefused, or the connection's error; reading the body throws them too
 */
export const fetchList = async (
  url: string,
  { timeoutMs, maxBytes, validators }: { timeoutMs: number; maxBytes: number; validators: Validators },
  stop: AbortSignal,
  destinations = INTERNET,
): Promise<FetchedList> => {
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([late, stop]);
  const orLate: OrLate = (error) =>
    late.aborted ? new ListRefused(`It did not arrive completely within ${timeoutMs} ms`) : error;
  let at = new URL(url);
  try {
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const lookup = redirects > 0 ? knowing(await addressesOf(at, destinations, signal)) : undefined;
      const response = await get(at, lookup, validators, signal);
      const location = response.headers.location;
      if (response.statusCode! >= 300 && response.statusCode! < 400 && response.statusCode !== 304) {
        response.destroy();
        if (location === undefined) throw new ListRefused(`It answered ${response.statusCode} without a Location`);
        at = redirectTarget(location, at);
        continue;
      }
      return read(response, maxBytes, orLate);
    }
  } catch (error) {
    throw orLate(error);
  }
  throw new ListRefused(`It redirected more than ${MAX_REDIRECTS} times`);
};

const redirectTarget = (location: string, from: URL): URL => {
  let target: URL;
  try {
    target = new URL(location, from);
  } catch {
    throw new ListRefused('The redirect target is not a valid URL');
  }
  if (target.protocol !== 'https:' && target.protocol !== 'http:')
    throw new ListRefused(`It redirected to ${target.protocol}, which is not HTTP`);
  if (from.protocol === 'https:' && target.protocol === 'http:')
    throw new ListRefused('It redirected from HTTPS to HTTP');
  return target;
};

const addressesOf = async (
  target: URL,
  destinations: Destinations,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  try {
    return await destinations.addressesOf(target, signal);
  } catch (error) {
    if (!(error instanceof AddressRefused)) throw error;
    throw new ListRefused(`It redirected to ${hostOf(target).slice(0, 100)}: ${error.message}`);
  }
};

const get = (
  url: URL,
  lookup: LookupFunction | undefined,
  { etag, lastModified }: Validators,
  signal: AbortSignal,
): Promise<http.IncomingMessage> =>
  new Promise((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const outgoing = request(
      url,
      {
        agent: false,
        signal,
        headers: {
          'user-agent': AGENT,
          accept: 'application/json, text/plain, */*;q=0.1',
          'accept-encoding': 'identity',
          ...(etag === undefined ? {} : { 'if-none-match': etag }),
          ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
        },
        ...(lookup && { lookup }),
      },
      resolve,
    );
    outgoing.on('error', reject);
    outgoing.end();
  });

const read = (response: http.IncomingMessage, maxBytes: number, orLate: OrLate): FetchedList => {
  const { statusCode, headers } = response;
  const validators = { etag: headers.etag, lastModified: headers['last-modified'] };
  const size = Number(headers['content-length'] ?? 0);
  try {
    if (statusCode === 304) {
      response.destroy();
      return { validators };
    }
    if (statusCode !== 200) throw new ListRefused(`It answered ${statusCode}`);
    const type = headers['content-type'] ?? '';
    if (/^\s*(?:text\/html|application\/xhtml|image\/|audio\/|video\/|font\/)/i.test(type))
      throw new ListRefused(`It has the content type ${type.slice(0, 100)}`);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw new ListRefused(`It is encoded as ${encoding.slice(0, 100)}, which was not requested`);
    if (size > maxBytes) throw new ListRefused(tooLarge(maxBytes));
  } catch (error) {
    response.destroy();
    throw error;
  }
  return { body: { chunks: chunksOf(response, maxBytes, orLate), size }, validators };
};

/** Streams the body, so that a list is never in memory as a whole. */
const chunksOf = async function* (
  response: http.IncomingMessage,
  maxBytes: number,
  orLate: OrLate,
): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new ListRefused(tooLarge(maxBytes));
      yield chunk;
    }
  } catch (error) {
    throw orLate(error);
  } finally {
    response.destroy();
  }
};

export const tooLarge = (maxBytes: number): string => `It is larger than ${maxBytes} bytes`;
