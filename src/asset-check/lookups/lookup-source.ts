import { LRUCache } from 'lru-cache';
import type { ParsedContent } from '../../assets/parse-content.js';
import { ASSET_STATUSES } from '../../events/types/asset-statuses.js';
import { FAILED, type SourceResult, REASONS, TIMED_OUT } from '../source-result.js';
import { CircuitBreaker } from './circuit-breaker.js';
import { finishesWithin } from '../../flow/deadline.js';
import { Semaphore } from '../../flow/semaphore.js';
import type { LookupSettings } from '../sources/sources-file.js';
import { USER_AGENT } from '../../runtime/version.js';

/** How long a result is cached, in ms. */
const CACHE_TTL_MS = 30_000;
const MAX_CACHED = 10_000;
/** Maximum number of concurrent requests to one source; further requests wait. */
export const MAX_CONCURRENT_REQUESTS = 50;
const MAX_RESPONSE_BYTES = 65_536;

/**
 * How a lookup ended. `remembered`: the result was cached. `shared`: a request for the same asset was already in
 * flight. `skipped`: the circuit breaker was open.
 */
export const OUTCOMES = [
  ...ASSET_STATUSES,
  ...(['error', 'timeout', 'skipped', 'remembered', 'shared'] as const),
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A source that is queried over HTTP: `POST { "content": … }`. The response has `status` and `reason`. */
export class LookupSource {
  private readonly breaker = new CircuitBreaker();
  private readonly cache = new LRUCache<string, SourceResult>({ max: MAX_CACHED, ttl: CACHE_TTL_MS });
  private readonly inFlight = new Map<string, Promise<SourceResult>>();
  private readonly requests = new Semaphore(MAX_CONCURRENT_REQUESTS);

  constructor(
    readonly settings: LookupSettings,
    /** Called once per lookup, with the error if the lookup failed. */
    private readonly onOutcome: (outcome: Outcome, error?: unknown) => void = () => {},
  ) {}

  /** Whether the circuit breaker is open. */
  get isCircuitOpen(): boolean {
    return this.breaker.isOpen;
  }

  /**
   * Looks up one content. Never rejects; resolves to `TIMED_OUT` at the deadline.
   * @param deadline value of `performance.now()` at which the lookup times out
   */
  check(content: string, parsed: ParsedContent, deadline: number): SourceResult | Promise<SourceResult> {
    const key = parsed.keys[0]!;
    const known = this.cache.get(key);
    if (known !== undefined) {
      this.onOutcome('remembered');
      return known;
    }
    const inFlight = this.inFlight.get(key);
    if (inFlight !== undefined) {
      this.onOutcome('shared');
      return withDeadline(inFlight, deadline);
    }
    const answer = this.request(content, key, deadline).finally(() => this.inFlight.delete(key));
    this.inFlight.set(key, answer);
    return withDeadline(answer, deadline);
  }

  private async request(content: string, key: string, deadline: number): Promise<SourceResult> {
    await this.requests.acquire();
    try {
      // The deadline and the breaker are checked after waiting for a slot, because the deadline may have passed or the
      // breaker may have opened meanwhile.
      const isLate = performance.now() >= deadline;
      if (isLate || !this.breaker.allows()) {
        this.onOutcome(isLate ? 'timeout' : 'skipped');
        return isLate ? TIMED_OUT : FAILED;
      }
      return await this.attempt(content, key);
    } finally {
      this.requests.release();
    }
  }

  private async attempt(content: string, key: string): Promise<SourceResult> {
    const signal = AbortSignal.timeout(this.settings.timeoutMs);
    try {
      const result = await this.send(content, signal);
      this.breaker.report(true);
      this.cache.set(key, result);
      this.onOutcome(result.status);
      return result;
    } catch (error) {
      this.breaker.report(false);
      this.onOutcome(signal.aborted ? 'timeout' : 'error', causeOf(error));
      return signal.aborted ? TIMED_OUT : FAILED;
    }
  }

  private async send(content: string, signal: AbortSignal): Promise<SourceResult> {
    const response = await fetch(this.settings.url, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'user-agent': USER_AGENT,
        ...this.settings.headers,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ content }),
      // Redirects are not followed: a remote server must not choose which hosts this service connects to.
      redirect: 'error',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`The server responded with status ${response.status}`);
    }
    return parseResponse(JSON.parse(await readText(response)));
  }
}

/** Returns the `cause` of an error of `fetch`, because the error itself is generic. */
const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? error.cause : error;

const withDeadline = async (answer: Promise<SourceResult>, deadline: number): Promise<SourceResult> =>
  (await finishesWithin(answer, Math.max(0, deadline - performance.now()))) ? answer : TIMED_OUT;

const readText = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new Error(`The response is larger than ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/**
 * Reads `status` and `reason` of a response. An unknown `reason` is ignored.
 * @throws Error if the response has no valid status
 */
const parseResponse = (answer: unknown): SourceResult => {
  const { status: sentStatus, reason: sentReason } = (answer ?? {}) as { status?: unknown; reason?: unknown };
  const status = ASSET_STATUSES.find((candidate) => candidate === sentStatus);
  const reason = REASONS.find((candidate) => candidate === sentReason);
  if (status === undefined) throw new Error('The response has no valid status');
  if (status === 'UNKNOWN')
    return {
      status,
      reason: reason === undefined || reason === 'external-source' || reason === 'parent-domain' ? 'not-found' : reason,
    };
  return reason === 'parent-domain' ? { status, reason } : { status };
};
