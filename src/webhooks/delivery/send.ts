import type { Socket } from 'node:net';
import { buildConnector, errors, Agent, type Dispatcher, Pool as HttpPool, ProxyAgent } from 'undici';
import { printable, truncate } from '../../runtime/terminal.js';
import { AddressDenied, type Destinations, fixedLookup } from '../../egress.js';
import { limit } from '../../limits.js';

/** Maximum number of interim responses before a final response. */
const MAX_INTERIM = 8;
/** Maximum size of an interim response. */
const MAX_INTERIM_BYTES = 16_384;
/** The beginning of an interim response, without the last two digits of its status. */
const START = 'HTTP/1.1 1';
const STATUS_BYTES = START.length + 2;
const SWITCHING_PROTOCOLS = `${START}01`;

/** Removes the interim responses from the bytes of one connection. */
class InterimFilter {
  /** The bytes of an interim response that is incomplete; undefined once the final response has begun. */
  private held: Buffer | undefined;
  private removed = 0;

  /** Must be called when a request is written, so that a response begins with the next bytes. */
  expectResponse(): void {
    this.held ??= Buffer.alloc(0);
    this.removed = 0;
  }

  /** @returns null if no bytes of the final response have arrived */
  filter(chunk: Buffer): Buffer | null {
    if (this.held === undefined) return chunk;
    let bytes = Buffer.concat([this.held, chunk]);
    for (; this.removed < MAX_INTERIM; this.removed += 1) {
      const start = bytes.toString('latin1', 0, STATUS_BYTES);
      if (!start.startsWith(START.slice(0, start.length)) || start === SWITCHING_PROTOCOLS) break;
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) {
        if (bytes.length > MAX_INTERIM_BYTES) break;
        this.held = bytes;
        return null;
      }
      bytes = bytes.subarray(end + 4);
    }
    this.held = undefined;
    return bytes.length > 0 ? bytes : null;
  }
}

const removeInterim = (socket: Socket): Socket => {
  const filter = new InterimFilter();
  const write = socket.write.bind(socket) as (...given: unknown[]) => boolean;
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  return Object.assign(socket, {
    write: (...given: unknown[]) => {
      filter.expectResponse();
      return write(...given);
    },
    read: (size?: number) => {
      const chunk = read(size);
      return chunk && filter.filter(chunk);
    },
  });
};

/**
 * Connects like `connect`, with sockets on which undici sees no interim responses (RFC 9110, 15.2). undici closes the
 * connection when `100 Continue` arrives, although a client must accept it. After eight interim responses, the next one
 * is left to undici.
 */
const withoutInterim =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...[error, socket]: buildConnector.CallbackArgs) =>
      error === null ? callback(null, removeInterim(socket)) : callback(error, null),
    );

/** The maximum length of the part of a response body that the organization sees, in UTF-16 units. */
const MAX_SHOWN_CHARACTERS = 1_024;

/** The outcome of a request: a response, or an error. */
export interface EndpointResponse {
  /** Absent if no response arrived in time. */
  readonly status?: number;
  /** The beginning of the response body. */
  readonly text?: string;
  /** The `Retry-After` header. */
  readonly retryAfter?: string;
  /** Why the request failed, for the organization. Absent if the request succeeded. */
  readonly error?: string;
  /** Why nothing was sent, for the operator: the operator's own proxy is the cause, and not the endpoint. */
  readonly proxyFailure?: string;
}

/** Connection errors, in words that reveal nothing about the host's network. */
const FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  UND_ERR_CONNECT_TIMEOUT: 'no connection was established within 5 s',
  ETIMEDOUT: 'no connection was established within 5 s',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the host is unreachable',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  UND_ERR_HEADERS_OVERFLOW: 'the response headers are too large',
};

const codeOf = (error: unknown): string | undefined => {
  const { code, errors: several } = error as { code?: unknown; errors?: readonly unknown[] };
  // If several addresses were tried, the first error is representative.
  return typeof code === 'string' && code !== '' ? code : several?.map(codeOf)[0];
};

/** The errors of connections to a proxy, which are not the endpoint's whatever their codes. */
const proxyErrors = new WeakSet<Error>();

/** Connects like `connect`, and remembers its errors as those of a proxy. */
const toProxy =
  (connect: buildConnector.connector): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error === null) return callback(null, socket);
      proxyErrors.add(error);
      callback(error, null);
    });

/** The message of undici for a tunnel that a proxy has not opened. */
const PROXY_STATUS = /^Proxy response \((\d{3})\)/;
const PROXY_AUTHENTICATION = '407';

/** Returns why a proxy, and not the endpoint, is the cause of an error. */
const proxyFailureOf = (error: Error): string | undefined => {
  // undici wraps the error of a certificate for another name.
  const ofProxy = [error, error.cause].find((each) => proxyErrors.has(each as Error));
  if (ofProxy !== undefined) return `the proxy cannot be reached (${codeOf(ofProxy) ?? (ofProxy as Error).message})`;
  return PROXY_STATUS.exec(error.message)?.[1] === PROXY_AUTHENTICATION
    ? `the proxy answered with ${PROXY_AUTHENTICATION}; correct the user name and the password in WEBHOOK_PROXY`
    : undefined;
};

/** The outcome of a request that failed with `error`. */
const failureOf = (error: unknown, isProxied: boolean): EndpointResponse => {
  if (error instanceof AddressDenied) return { error: error.message };
  const proxyFailure = isProxied ? proxyFailureOf(error as Error) : undefined;
  if (proxyFailure !== undefined)
    return { error: 'the request could not be sent; the operator has been notified', proxyFailure };
  const code = codeOf(error);
  if (error instanceof errors.HTTPParserError) return { error: 'the response is not HTTP' };
  if (code?.startsWith('ERR_SSL_') || code === 'EPROTO') return { error: 'the server does not support TLS' };
  return { error: FAILURES[code ?? ''] ?? 'the connection failed' };
};

/** The outcome of a request that got a response. @param bytes the beginning of the body */
const responseOf = (status: number, bytes: Buffer, retryAfter: string | undefined): EndpointResponse => {
  const text = truncate(printable(bytes.subarray(0, MAX_SHOWN_CHARACTERS).toString()), MAX_SHOWN_CHARACTERS);
  const isSuccess = status >= 200 && status < 300;
  return {
    status,
    text,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(!isSuccess && {
      error: status < 400 ? `responded with ${status}; redirects are not followed` : `responded with ${status}`,
    }),
  };
};

/** The timeout for the DNS lookup and the connection together. */
const CONNECT_TIMEOUT_MS = limit('name and connection of a delivery', 5_000, 'ms', 'request', 'the attempt fails');
const RESPONSE_TIMEOUT_MS = limit('response to a delivery', 15_000, 'ms', 'request', 'the attempt fails');
/** How much of a response body is read. */
const MAX_RESPONSE_BYTES = limit('response to a delivery', 4_096, 'bytes', 'request', 'the rest is not read');
const MAX_HEADER_BYTES = 16_384;
/** How long an idle connection stays open. Few receivers close idle connections earlier. */
const KEEP_ALIVE_MS = 2_000;

const OPTIONS = {
  pipelining: 1,
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: 0,
  bodyTimeout: 0,
  factory: (origin: string | URL, options: object): Dispatcher => {
    const { connect, ...others } = options as { connect: buildConnector.connector };
    return new HttpPool(origin, { ...others, connect: withoutInterim(connect) });
  },
} as const;

/** Opens the connections to a proxy. */
const clientFactory = (origin: URL, options: object): Dispatcher => {
  const { connect } = options as { connect: buildConnector.connector };
  return new HttpPool(origin, { ...options, connect: toProxy(connect) });
};

/** A request to send. */
interface OutgoingRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Opens connections: directly to addresses that were checked, or through a forward proxy. */
export class Egress {
  private readonly proxy: ProxyAgent | undefined;

  constructor(
    readonly destinations: Destinations,
    proxyUrl?: string,
  ) {
    const tls = { timeout: CONNECT_TIMEOUT_MS };
    if (proxyUrl !== undefined)
      this.proxy = new ProxyAgent({ ...OPTIONS, uri: proxyUrl, proxyTls: tls, requestTls: tls, clientFactory });
  }

  /** True if connection events are unavailable, because a proxy opens the connections. */
  get isProxied(): boolean {
    return this.proxy !== undefined;
  }

  /**
   * Resolves the addresses that may be connected to; returns no addresses if there is a proxy, because the proxy
   * resolves and checks names itself.
   * @throws AddressDenied if an address is not allowed, or for `http` to an address that the operator has not allowed
   */
  async check(url: URL): Promise<readonly string[]> {
    if (this.proxy !== undefined) return [];
    const addresses = await this.destinations.addressesOf(url);
    const isAllowed = addresses.every((address) => this.destinations.policy.isAllowedByOperator(address));
    if (url.protocol !== 'https:' && !isAllowed) throw new AddressDenied('https is required');
    return addresses;
  }

  /** @param onChange called when the connection opens and when it closes; never called with a proxy */
  open(addresses: readonly string[], onChange: (isOpen: boolean) => void): Dispatcher {
    if (this.proxy !== undefined) return this.proxy;
    const lookup = fixedLookup(addresses);
    const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup, autoSelectFamily: true });
    const keep = { keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: KEEP_ALIVE_MS };
    const agent = new Agent({ ...OPTIONS, ...keep, connections: 1, connect });
    return agent.on('connect', () => onChange(true)).on('disconnect', () => onChange(false));
  }

  /** Closes a dispatcher from `open`, unless it is the shared proxy. */
  close(dispatcher: Dispatcher): void {
    if (dispatcher !== this.proxy) void dispatcher.destroy();
  }

  async end(): Promise<void> {
    await this.proxy?.destroy();
  }
}

/** Sends requests to one endpoint, one at a time, on a persistent connection. */
export class Connection {
  private current: { readonly to: string; readonly dispatcher: Dispatcher } | undefined;
  private isOpen = false;
  private onOpen: () => void = () => {};

  constructor(private readonly egress: Egress) {}

  /**
   * Looks up the host name, checks its addresses and sends the request to one of these addresses, within 20 s in total.
   * Never rejects: a failure is a response with an `error`.
   * @param stop cancels the request
   */
  async send({ url, headers, body }: OutgoingRequest, stop: AbortSignal): Promise<EndpointResponse> {
    const request = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    let isTimedOut = false;
    let isOpening = true;
    const restartTimer = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        isTimedOut = true;
        request.abort();
        // undici does not check the signal of a request that waits for its connection.
        this.end();
      }, ms);
    };
    const awaitResponse = (ms = RESPONSE_TIMEOUT_MS): void => {
      isOpening = false;
      restartTimer(ms);
    };
    // `AbortSignal.any` is not used: Node 20 never frees its entries in `stop`, which lives as long as the lease.
    const cancel = (): void => request.abort();
    stop.addEventListener('abort', cancel);
    if (stop.aborted) cancel();
    try {
      restartTimer(CONNECT_TIMEOUT_MS);
      const dispatcher = this.dispatcherFor(url, await this.egress.check(url));
      if (this.egress.isProxied) awaitResponse(CONNECT_TIMEOUT_MS + RESPONSE_TIMEOUT_MS);
      else if (this.isOpen) awaitResponse();
      else this.onOpen = awaitResponse;
      const aborted = new Promise<never>((_, reject) =>
        request.signal.addEventListener('abort', () => reject(request.signal.reason as Error), { once: true }),
      );
      const sent = dispatcher.request({
        method: 'POST',
        origin: url.origin,
        path: url.pathname + url.search,
        headers,
        body,
        signal: request.signal,
      });
      // A proxy is shared and stays open, and undici does not check the signal while its tunnel is being opened.
      const { statusCode, headers: responseHeaders, body: content } = await Promise.race([sent, aborted]);
      const retryAfter = responseHeaders['retry-after'];
      const first = await firstBytes(content);
      return responseOf(statusCode, first, typeof retryAfter === 'string' ? retryAfter : undefined);
    } catch (error) {
      this.end();
      if (!isTimedOut || error instanceof AddressDenied) return failureOf(error, this.egress.isProxied);
      return {
        error: isOpening ? 'no connection was established within 5 s' : 'no complete response arrived within 15 s',
      };
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', cancel);
      this.onOpen = () => {};
    }
  }

  /** Closes the connection. */
  end(): void {
    const { current } = this;
    this.current = undefined;
    this.isOpen = false;
    if (current !== undefined) this.egress.close(current.dispatcher);
  }

  private dispatcherFor(url: URL, addresses: readonly string[]): Dispatcher {
    const to = [url.origin, ...[...addresses].sort()].join(' ');
    if (this.current?.to === to) return this.current.dispatcher;
    this.end();
    const dispatcher = this.egress.open(addresses, (isOpen) => {
      if (this.current?.dispatcher !== dispatcher) return;
      this.isOpen = isOpen;
      // The connection is open: the timeout for the response starts.
      if (isOpen) this.onOpen();
    });
    this.current = { to, dispatcher };
    return dispatcher;
  }
}

/** Reads the beginning of a body. If there is more, the rest is not read, and the connection is closed. */
const firstBytes = async (content: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_RESPONSE_BYTES) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_RESPONSE_BYTES);
};
