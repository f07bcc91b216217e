import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { type Answer, answerOf, failureOf } from './answer.js';
import { AddressRefused, type Destinations, knowing } from '../../../egress/destinations.js';

/** The look-up of a name and the connection, together. */
const OPEN_MS = 5_000;
const ANSWER_MS = 15_000;
/** How many bytes of a response are read. */
const MAX_READ = 4_096;
const MAX_HEADER_BYTES = 16_384;
/** A connection without a request is closed after this time: receivers that close theirs sooner are rare. ms */
const KEPT_MS = 2_000;

const LIMITS = { pipelining: 1, maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: 0, bodyTimeout: 0 } as const;

/** What is sent. */
export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** How requests leave: straight to addresses that were checked, or all of them through a forward proxy. */
export class Egress {
  private readonly proxy: ProxyAgent | undefined;

  constructor(
    readonly destinations: Destinations,
    proxyUrl?: string,
  ) {
    const tls = { timeout: OPEN_MS };
    if (proxyUrl !== undefined)
      this.proxy = new ProxyAgent({ ...LIMITS, uri: proxyUrl, proxyTls: tls, requestTls: tls });
  }

  /** True if connection events are unavailable, because a proxy opens the connections. */
  get isProxied(): boolean {
    return this.proxy !== undefined;
  }

  /**
   * Which addresses may be connected to; a proxy decides for itself.
   * @throws AddressRefused, also for `http` to an address that the operator has not allowed
   */
  async check(url: URL): Promise<readonly string[]> {
    if (this.proxy !== undefined) return [];
    const addresses = await this.destinations.addressesOf(url);
    const isAllowed = addresses.every((address) => this.destinations.reach.isAllowed(address));
    if (url.protocol !== 'https:' && !isAllowed) throw new AddressRefused('https is required');
    return addresses;
  }

  /** @param onChange told when the connection is open, and when it is not any more */
  open(addresses: readonly string[], onChange: (isOpen: boolean) => void): Dispatcher {
    if (this.proxy !== undefined) return this.proxy;
    const connect = { timeout: OPEN_MS, lookup: knowing(addresses), autoSelectFamily: true };
    const keep = { keepAliveTimeout: KEPT_MS, keepAliveMaxTimeout: KEPT_MS };
    const agent = new Agent({ ...LIMITS, ...keep, connections: 1, connect });
    return agent.on('connect', () => onChange(true)).on('disconnect', () => onChange(false));
  }

  /** Ends what `open` gave, if it is one endpoint's alone. */
  close(dispatcher: Dispatcher): void {
    if (dispatcher !== this.proxy) void dispatcher.destroy();
  }

  async end(): Promise<void> {
    await this.proxy?.destroy();
  }
}

/** The requests to one endpoint, one at a time, on a connection that is kept while it is used. */
export class Connection {
  private kept: { readonly to: string; readonly dispatcher: Dispatcher } | undefined;
  private isOpen = false;
  private begin: () => void = () => {};

  constructor(private readonly egress: Egress) {}

  /**
   * Looks the name up, checks its addresses and sends the request to one of them, all within 20 s. Whatever comes of it
   * is an answer.
   * @param stop gives the request up
   */
  async send({ url, headers, body }: Post, stop: AbortSignal): Promise<Answer> {
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    let isOpening = true;
    const allow = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        late.abort();
        // A request that waits for its connection sees no signal.
        this.end();
      }, ms);
    };
    const awaitAnswer = (ms = ANSWER_MS): void => {
      isOpening = false;
      allow(ms);
    };
    try {
      allow(OPEN_MS);
      const dispatcher = this.towards(url, await this.egress.check(url));
      if (this.egress.isProxied) awaitAnswer(OPEN_MS + ANSWER_MS);
      else if (this.isOpen) awaitAnswer();
      else this.begin = awaitAnswer;
      const {
        statusCode,
        headers: answered,
        body: content,
      } = await dispatcher.request({
        method: 'POST',
        origin: url.origin,
        path: url.pathname + url.search,
        headers,
        body,
        signal: AbortSignal.any([late.signal, stop]),
      });
      const retryAfter = answered['retry-after'];
      const first = await firstBytes(content);
      return answerOf(statusCode, first, typeof retryAfter === 'string' ? retryAfter : undefined);
    } catch (error) {
      this.end();
      if (!late.signal.aborted || error instanceof AddressRefused) return failureOf(error);
      return {
        error: isOpening ? 'no connection was established within 5 s' : 'no complete response arrived within 15 s',
      };
    } finally {
      clearTimeout(timer);
      this.begin = () => {};
    }
  }

  /** Closes the connection. */
  end(): void {
    const { kept } = this;
    this.kept = undefined;
    this.isOpen = false;
    if (kept !== undefined) this.egress.close(kept.dispatcher);
  }

  private towards(url: URL, addresses: readonly string[]): Dispatcher {
    const to = [url.origin, ...[...addresses].sort()].join(' ');
    if (this.kept?.to === to) return this.kept.dispatcher;
    this.end();
    const dispatcher = this.egress.open(addresses, (isOpen) => {
      if (this.kept?.dispatcher !== dispatcher) return;
      this.isOpen = isOpen;
      // The time to connect is over, and the time for the answer begins.
      if (isOpen) this.begin();
    });
    this.kept = { to, dispatcher };
    return dispatcher;
  }
}

/** What comes after them is never read, which closes the connection. */
const firstBytes = async (content: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_READ) break;
  }
  return Buffer.concat(chunks).subarray(0, MAX_READ);
};
