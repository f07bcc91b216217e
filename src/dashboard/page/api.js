import { Failure, failureOf, failureWithoutAnswer } from './failure.js';

/** Relative to this file, so that the page also works behind a proxy that adds a path. */
const BASE = new URL('../../v2/', import.meta.url);
const PATIENCE_MS = 20_000;
/** Maximum number of responses cached for `If-None-Match`. The oldest one is dropped first. */
const MAX_KEPT = 40;
const TOKEN = 'consistency-token';
const GONE = 410;

const urlOf = (path, query) => {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
  return url.href;
};

/** Calls the API with one key. Errors are thrown as a `Failure`, unless the caller aborted the request. */
export class Api {
  #kept = new Map();
  /** The newest consistency token, by URL and by path. */
  #tokens = new Map();

  constructor(key) {
    this.key = key;
  }

  /** @returns `{ body, asOf }`: the same body object while its content is unchanged; `asOf` may be undefined */
  async get(path, query, signal) {
    const url = urlOf(path, query);
    const kept = this.#kept.get(url);
    const headers = kept === undefined ? {} : { 'if-none-match': kept.tag };
    const response = await this.#send(url, { headers, signal });
    const asOf = response.headers.get('x-as-of') ?? undefined;
    if (response.status === 304) return { body: kept.body, asOf };
    const body = await readBody(() => response.json(), signal);
    this.#keep(url, response.headers.get('etag'), body);
    return { body, asOf };
  }

  /** @param patience the timeout of the whole download, in ms */
  async getCsv(path, query, patience = PATIENCE_MS) {
    const response = await this.#send(urlOf(path, query), { headers: { accept: 'text/csv' } }, patience);
    return readBody(() => response.blob());
  }

  async post(path, value, signal) {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(value), signal };
    const response = await this.#send(urlOf(path, {}), init);
    return readBody(() => response.json(), signal);
  }

  #keep(url, tag, body) {
    if (tag === null) return;
    remember(this.#kept, url, { tag, body });
  }

  /**
   * Sends a request with the newest consistency token of its URL, so that no figure goes back if another instance or
   * replica responds. The token of the path is used if the URL has none, because both read the same figures.
   */
  async #send(url, init, patience) {
    const { pathname } = new URL(url);
    const token = this.#tokens.get(url) ?? this.#tokens.get(pathname);
    let response = await this.#fetch(url, init, patience, token);
    if (response.status === GONE && token !== undefined) {
      // The log was restored or replaced, so all tokens are invalid.
      this.#tokens.clear();
      response = await this.#fetch(url, init, patience);
    }
    if (!response.ok && response.status !== 304) throw await failureOf(response);
    const next = response.headers.get(TOKEN);
    if (next !== null) for (const name of [url, pathname]) remember(this.#tokens, name, next);
    return response;
  }

  async #fetch(url, { headers, signal, ...init }, patience = PATIENCE_MS, token) {
    const timeout = AbortSignal.timeout(patience);
    return readBody(
      () =>
        fetch(url, {
          ...init,
          headers: {
            accept: 'application/json',
            ...headers,
            'x-api-key': this.key,
            ...(token !== undefined && { [TOKEN]: token }),
          },
          // The browser's cache would serve the responses for one key to the next key.
          cache: 'no-store',
          credentials: 'omit',
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        }),
      signal,
    );
  }
}

/** Sets a value and drops the oldest ones. */
const remember = (map, name, value) => {
  map.delete(name);
  map.set(name, value);
  if (map.size > MAX_KEPT) map.delete(map.keys().next().value);
};

const readBody = async (read, signal) => {
  try {
    return await read();
  } catch (error) {
    if (signal?.aborted || error instanceof Failure) throw error;
    throw failureWithoutAnswer(error);
  }
};
