import * as http from 'node:http';
import * as https from 'node:https';
import type { LookupFunction } from 'node:net';
import { type Body, InvalidList } from './collector.js';
import { AddressDenied, Destinations, hostOf, fixedLookup, NetworkPolicy } from '../../egress.js';
import { USER_AGENT } from '../../runtime/version.js';
import { limit } from '../../limits.js';

/** The validators of a conditional request. The server responds with 304 if the list has not changed. */
export interface Validators {
  readonly etag?: string;
  readonly lastModified?: string;
}

export interface FetchedList {
  /** Absent if the list was not modified. */
  readonly body?: Body;
  readonly validators: Validators;
}

/** The destinations to which a redirect may lead. */
const PUBLIC_INTERNET = new Destinations(new NetworkPolicy([]));

/** Replaces the error of a request that timed out by an `InvalidList` whose message names the timeout. */
type AsTimeout = (error: unknown) => unknown;

const MAX_REDIRECTS = limit('download of a list', 5, 'redirects, to public addresses', 'list', 'the last copy stays');

/**
 * Fetches a list from the URL that the operator configured, which may be on a private network. A redirect may only lead
 * to a public address: a remote server must not choose which internal hosts this service connects to.
 * @param timeoutMs limits the whole download, including redirects and the body
 * @throws InvalidList, or the error of the connection; reading the body throws the same errors
 */
export const fetchList = async (
  url: string,
  { timeoutMs, maxBytes, validators }: { timeoutMs: number; maxBytes: number; validators: Validators },
  stop: AbortSignal,
  destinations = PUBLIC_INTERNET,
): Promise<FetchedList> => {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([timeout, stop]);
  const asTimeout: AsTimeout = (error) =>
    timeout.aborted ? new InvalidList(`The download did not finish within ${timeoutMs} ms`) : error;
  let currentUrl = new URL(url);
  try {
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const lookup = redirects > 0 ? fixedLookup(await addressesOf(currentUrl, destinations, signal)) : undefined;
      const response = await get(currentUrl, lookup, validators, signal);
      const location = response.headers.location;
      if (response.statusCode! >= 300 && response.statusCode! < 400 && response.statusCode !== 304) {
        response.destroy();
        if (location === undefined)
          throw new InvalidList(`The server responded with status ${response.statusCode} without a Location header`);
        currentUrl = redirectTarget(location, currentUrl);
        continue;
      }
      return readResponse(response, maxBytes, asTimeout);
    }
  } catch (error) {
    throw asTimeout(error);
  }
  throw new InvalidList(`The server redirected more than ${MAX_REDIRECTS} times`);
};

const redirectTarget = (location: string, from: URL): URL => {
  let target: URL;
  try {
    target = new URL(location, from);
  } catch {
    throw new InvalidList('The redirect target is not a valid URL');
  }
  if (target.protocol !== 'https:' && target.protocol !== 'http:')
    throw new InvalidList(`The server redirected to ${target.protocol}, which is not HTTP`);
  if (from.protocol === 'https:' && target.protocol === 'http:')
    throw new InvalidList('The server redirected from HTTPS to HTTP');
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
    if (!(error instanceof AddressDenied)) throw error;
    throw new InvalidList(`The server redirected to ${hostOf(target).slice(0, 100)}: ${error.message}`);
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
          'user-agent': `${USER_AGENT} (+list refresh)`,
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

const readResponse = (response: http.IncomingMessage, maxBytes: number, asTimeout: AsTimeout): FetchedList => {
  const { statusCode, headers } = response;
  const validators = { etag: headers.etag, lastModified: headers['last-modified'] };
  const size = Number(headers['content-length'] ?? 0);
  try {
    if (statusCode === 304) {
      response.destroy();
      return { validators };
    }
    if (statusCode !== 200) throw new InvalidList(`The server responded with status ${statusCode}`);
    const type = headers['content-type'] ?? '';
    if (/^\s*(?:text\/html|application\/xhtml|image\/|audio\/|video\/|font\/)/i.test(type))
      throw new InvalidList(`The list has the content type ${type.slice(0, 100)}`);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity')
      throw new InvalidList(`The response has the content encoding ${encoding.slice(0, 100)}, which was not requested`);
    if (size > maxBytes) throw new InvalidList(tooLarge(maxBytes));
  } catch (error) {
    response.destroy();
    throw error;
  }
  return { body: { chunks: chunksOf(response, maxBytes, asTimeout), size }, validators };
};

/** Streams the body, so that the whole list is never in memory. */
const chunksOf = async function* (
  response: http.IncomingMessage,
  maxBytes: number,
  asTimeout: AsTimeout,
): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new InvalidList(tooLarge(maxBytes));
      yield chunk;
    }
  } catch (error) {
    throw asTimeout(error);
  } finally {
    response.destroy();
  }
};

export const tooLarge = (maxBytes: number): string => `The list is larger than ${maxBytes} bytes`;
