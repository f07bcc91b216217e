import { lookup as lookUpName, type LookupAddress, type LookupAllOptions } from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type Body, ListRefused } from './parse-list.js';
import { isReachableAddress } from './reachable-address.js';

/** What lets the server answer "not modified". */
export interface Validators {
  readonly etag?: string;
  readonly lastModified?: string;
}

export interface FetchedList {
  /** Undefined: not modified. */
  readonly body?: Body;
  readonly validators: Validators;
}

/** What a name leads to, and where a redirect may lead. */
export interface Network {
  readonly lookUp: (
    hostname: string,
    options: LookupAllOptions,
    callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
  ) => void;
  readonly isReachable: (address: string) => boolean;
}

const INTERNET: Network = { lookUp: lookUpName, isReachable: isReachableAddress };

/** What to say of an error: that time was up, where it was. */
type OrLate = (error: unknown) => unknown;

const MAX_REDIRECTS = 5;
const AGENT = 'threat-protection/2.0 (+list refresh)';

/**
 * Name resolution that finds public addresses only, so that a name cannot lead where an address may not. The connection
 * is made to what is found here: a name that leads elsewhere the next time it is asked for gains nothing by it.
 */
const publicLookUp =
  ({ lookUp, isReachable }: Network): LookupFunction =>
  (hostname, options, callback) => {
    lookUp(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const found = addresses.filter(({ address }) => isReachable(address));
      if (found.length === 0)
        return callback(new ListRefused(`${hostname} leads to a private address`) as NodeJS.ErrnoException, '', 0);
      if (options.all === true) callback(null, found);
      else callback(null, found[0]!.address, found[0]!.family);
    });
  };

/**
 * Gets a list from the address an operator configured, which may be private. What it redirects to may not: the other
 * server does not decide whom this one talks to.
 * @param timeoutMs for all of it, redirects and the reading of the body included
 * @throws ListRefused, or the error of the connection; so does the reading
 */
export const fetchList = async (
  url: string,
  { timeoutMs, maxBytes, validators }: { timeoutMs: number; maxBytes: number; validators: Validators },
  stop: AbortSignal,
  network = INTERNET,
): Promise<FetchedList> => {
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([late, stop]);
  const orLate: OrLate = (error) =>
    late.aborted ? new ListRefused(`It was not all here after ${timeoutMs} ms`) : error;
  let at = new URL(url);
  try {
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await get(at, redirects > 0 ? publicLookUp(network) : undefined, validators, signal);
      const location = response.headers.location;
      if (response.statusCode! >= 300 && response.statusCode! < 400 && response.statusCode !== 304) {
        response.destroy();
        if (location === undefined) throw new ListRefused(`It answered ${response.statusCode} without a new address`);
        at = redirectTarget(location, at, network);
        continue;
      }
      return read(response, maxBytes, orLate);
    }
  } catch (error) {
    throw orLate(error);
  }
  throw new ListRefused(`It redirected more than ${MAX_REDIRECTS} times`);
};

const redirectTarget = (location: string, from: URL, { isReachable }: Network): URL => {
  let target: URL;
  try {
    target = new URL(location, from);
  } catch {
    throw new ListRefused('It redirected to what is no address');
  }
  if (target.protocol !== 'https:' && target.protocol !== 'http:')
    throw new ListRefused(`It redirected to ${target.protocol}, which is not the web`);
  if (from.protocol === 'https:' && target.protocol === 'http:')
    throw new ListRefused('It redirected to an address without encryption');
  const literal = target.hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0 && !isReachable(literal)) throw new ListRefused('It redirected to a private address');
  return target;
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
      throw new ListRefused(`It is of the type ${type.slice(0, 100)}`);
    const encoding = headers['content-encoding'] ?? 'identity';
    if (encoding !== 'identity') throw new ListRefused(`It is encoded as ${encoding.slice(0, 100)}, unasked`);
    if (size > maxBytes) throw new ListRefused(tooLarge(maxBytes));
  } catch (error) {
    response.destroy();
    throw error;
  }
  return { body: { chunks: chunksOf(response, maxBytes, orLate), size }, validators };
};

/** Piece by piece as it comes, so that no list is ever in memory as it was sent. */
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
