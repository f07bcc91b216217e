import { Failure, failureOf, failureWithoutAnswer } from './failure.js';

/** The URL of the API is relative to this file, so that the page also works behind a proxy that adds a path. */
const BASE = new URL('../../v2/', import.meta.url);
const TIMEOUT_MS = 20_000;
/** Maximum number of responses that are cached for `If-None-Match`, and of tokens. The oldest are dropped first. */
const MAX_REMEMBERED = 100;
/** Maximum number of records per page of the API, and of pages that are read of a list. */
const [ROWS_A_PAGE, MAX_PAGES] = [1_000, 4];
const TOKEN = 'consistency-token';
const GONE = 410;

const urlOf = (path, query) => {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
  return url.href;
};

/** Calls the API with one key. Errors are thrown as a `Failure`, unless the caller aborted the request. */
export class Api {
  #cached = new Map();
  /** The newest consistency token, by URL and by path. */
  #tokens = new Map();

  constructor(key) {
    this.key = key;
  }

  /**
   * @returns `{ body, asOf }`; `body` is the same object while the response is unchanged, and `asOf` may be undefined
   */
  async get(path, query, signal) {
    const url = urlOf(path, query);
    const cached = this.#cached.get(url);
    const headers = cached?.tag ? { 'if-none-match': cached.tag } : {};
    const response = await this.#send(url, { headers, signal });
    const asOf = response.headers.get('x-as-of') ?? undefined;
    if (response.status === 304) return { body: cached.body, asOf };
    const answer = await readBody(() => response.json(), signal);
    // Some responses have no ETag.
    const body = JSON.stringify(answer) === JSON.stringify(cached?.body) ? cached.body : answer;
    remember(this.#cached, url, { tag: response.headers.get('etag'), body });
    return { body, asOf };
  }

  /**
   * Reads a list, which is newest first, up to the maximum number of pages.
   * @returns `{ items, pages, isCut, asOf }`; `pages` are the bodies, and `isCut` tells that the list has older records
   */
  async getItems(path, query, signal) {
    const pages = [];
    let answer;
    do {
      answer = await this.get(path, { ...query, limit: ROWS_A_PAGE, cursor: answer?.body.nextCursor }, signal);
      pages.push(answer.body);
    } while (answer.body.nextCursor !== undefined && pages.length < MAX_PAGES);
    const isCut = answer.body.nextCursor !== undefined;
    return { items: pages.flatMap(({ items }) => items), pages, isCut, asOf: answer.asOf };
  }

  /** @param timeoutMs the timeout of the whole download, in ms */
  async getCsv(path, query, timeoutMs = TIMEOUT_MS) {
    const response = await this.#send(urlOf(path, query), { headers: { accept: 'text/csv' } }, timeoutMs);
    return readBody(() => response.blob());
  }

  async post(path, value, signal) {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(value), signal };
    const response = await this.#send(urlOf(path, {}), init);
    return readBody(() => response.json(), signal);
  }

  /**
   * Sends a request with the newest consistency token of its URL, so that figures are never older than before, even if
   * another instance or replica responds. If the URL has no token, the token of the path is used, because both read the
   * same figures.
   */
  async #send(url, init, timeoutMs) {
    const { pathname } = new URL(url);
    const token = this.#tokens.get(url) ?? this.#tokens.get(pathname);
    let response = await this.#fetch(url, init, timeoutMs, token);
    if (response.status === GONE && token !== undefined) {
      // The log was restored or replaced, so all tokens are invalid.
      this.#tokens.clear();
      response = await this.#fetch(url, init, timeoutMs);
    }
    if (!response.ok && response.status !== 304) throw await failureOf(response);
    const next = response.headers.get(TOKEN);
    if (next !== null) for (const name of [url, pathname]) remember(this.#tokens, name, next);
    return response;
  }

  async #fetch(url, { headers, signal, ...init }, timeoutMs = TIMEOUT_MS, token) {
    const timeout = AbortSignal.timeout(timeoutMs);
    return readBody(
      () =>
        fetch(url, {
          ...init,
          headers: { accept: 'application/json', ...headers, 'x-api-key': this.key, ...(token && { [TOKEN]: token }) },
          // The cache of the browser is not used, because it would serve the responses for one key to the next key.
          cache: 'no-store',
          credentials: 'omit',
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        }),
      signal,
    );
  }
}

/** Sets a value, and drops the oldest value if there are too many. */
const remember = (map, name, value) => {
  map.delete(name);
  map.set(name, value);
  if (map.size > MAX_REMEMBERED) map.delete(map.keys().next().value);
};

const readBody = async (read, signal) => {
  try {
    return await read();
  } catch (error) {
    if (signal?.aborted || error instanceof Failure) throw error;
    throw failureWithoutAnswer(error);
  }
};
