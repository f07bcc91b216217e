import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { ASSET_STATUSES } from '../events/types/verdicts.js';
import { FAILED, type SourceResult, REASONS, TIMED_OUT } from './verdict.js';
import { finishesWithin } from '../flow/time.js';
import { FairSlots } from '../flow/turns.js';
import type { LookupSettings } from './sources/sources-file.js';
import { USER_AGENT } from '../runtime/version.js';
import { limit } from '../limits.js';

/** Number of consecutive failures that opens the breaker. */
const FAILURE_THRESHOLD = 5;
/** How long the breaker stays open before one request may probe the source, in ms. */
const OPEN_MS = 10_000;

/** Skips requests to a source that keeps failing. */
export class CircuitBreaker {
  private failures = 0;
  private openUntil = 0;
  private isProbing = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Whether the breaker is open or half-open. */
  get isOpen(): boolean {
    return this.failures >= FAILURE_THRESHOLD;
  }

  /**
   * Returns whether the source may be called now. While the breaker is half-open, only one caller may call the source.
   */
  allows(): boolean {
    if (this.failures < FAILURE_THRESHOLD) return true;
    if (this.isProbing || this.now() < this.openUntil) return false;
    this.isProbing = true;
    return true;
  }

  report(succeeded: boolean): void {
    this.isProbing = false;
    this.failures = succeeded ? 0 : this.failures + 1;
    if (this.failures >= FAILURE_THRESHOLD) this.openUntil = this.now() + OPEN_MS;
  }
}

/** How long a check uses a result again, in ms. */
const CACHE_TTL_MS = 30_000;
/** How long a check with a `LookupBudget` uses a result again, in ms. */
const BUDGETED_TTL_MS = 300_000;
const MAX_CACHED = 10_000;
/** Maximum number of concurrent requests to one source; further requests wait. */
const MAX_CONCURRENT_REQUESTS = limit('lookups at a source', 50, 'lookups', 'source', 'waits');
/** Maximum number of concurrent requests to one source for one organization. */
export const MAX_REQUESTS_OF_ORGANIZATION = limit('lookups at a source', 25, 'lookups', 'organization', 'waits');
const MAX_RESPONSE_BYTES = 65_536;

/**
 * How a lookup ended. `remembered`: the result was cached. `shared`: a request with the same content was already in
 * flight. `skipped`: the circuit breaker was open, or the budget of the request was used up.
 */
export const OUTCOMES = [
  ...ASSET_STATUSES,
  ...(['error', 'timeout', 'skipped', 'remembered', 'shared'] as const),
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Limits the lookups of a request that checks many contents for display. */
export interface LookupBudget {
  /** The number of contents that may still be sent to sources. */
  left: number;
}

interface Remembered {
  readonly result: SourceResult;
  /** Value of `performance.now()`. */
  readonly at: number;
}

/** The server responded, but its response cannot be used. The response may depend on the content. */
class UnusableResponse extends Error {}

/**
 * A source that is queried over HTTP: `POST { "content": … }`. The response has `status` and `reason`.
 *
 * All organizations share a source. A cached result and a request in flight are therefore used only for exactly the
 * content that was sent, no organization gets more than half of the requests, and only an outage of the server opens the
 * circuit breaker, never its response to one content.
 */
export class LookupSource {
  private readonly breaker = new CircuitBreaker();
  private readonly cache = new LRUCache<string, Remembered>({ max: MAX_CACHED, ttl: BUDGETED_TTL_MS });
  private readonly inFlight = new Map<string, Promise<SourceResult>>();
  private readonly slots = new FairSlots(MAX_CONCURRENT_REQUESTS, MAX_REQUESTS_OF_ORGANIZATION);

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
   * @param organization whose turn and whose share of the requests the lookup uses
   * @param deadline value of `performance.now()` at which the lookup times out
   * @param budget if present, an older result is used, and without one, the lookup fails if the budget is used up
   */
  check(
    content: string,
    organization: string,
    deadline: number,
    budget?: LookupBudget,
  ): SourceResult | Promise<SourceResult> {
    const key = digestOf(content);
    const known = this.known(key, deadline, budget && BUDGETED_TTL_MS);
    if (known !== undefined) return known;
    if (budget !== undefined && (budget.left -= 1) < 0) {
      this.onOutcome('skipped');
      return FAILED;
    }
    const answer = this.slots.run(organization, async () => this.request(content, key, deadline));
    return withDeadline(answer, deadline);
  }

  /** The cached result, or that of a request in flight. A lookup that still waits for its turn is never shared. */
  private known(
    key: string,
    deadline: number,
    maxAgeMs = CACHE_TTL_MS,
  ): SourceResult | Promise<SourceResult> | undefined {
    const cached = this.cache.get(key);
    if (cached !== undefined && performance.now() - cached.at < maxAgeMs) {
      this.onOutcome('remembered');
      return cached.result;
    }
    const inFlight = this.inFlight.get(key);
    if (inFlight === undefined) return undefined;
    this.onOutcome('shared');
    return withDeadline(inFlight, deadline);
  }

  /** Called when it is the turn of the lookup. Time has passed since `check`, so everything is checked again. */
  private request(content: string, key: string, deadline: number): SourceResult | Promise<SourceResult> {
    const isLate = performance.now() >= deadline;
    const known = isLate ? undefined : this.known(key, deadline);
    if (known !== undefined) return known;
    if (isLate || !this.breaker.allows()) {
      this.onOutcome(isLate ? 'timeout' : 'skipped');
      return isLate ? TIMED_OUT : FAILED;
    }
    const answer = this.attempt(content, key).finally(() => this.inFlight.delete(key));
    this.inFlight.set(key, answer);
    return answer;
  }

  private async attempt(content: string, key: string): Promise<SourceResult> {
    const signal = AbortSignal.timeout(this.settings.timeoutMs);
    try {
      const result = await this.send(content, signal);
      this.breaker.report(true);
      this.cache.set(key, { result, at: performance.now() });
      this.onOutcome(result.status);
      return result;
    } catch (error) {
      this.breaker.report(error instanceof UnusableResponse);
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
      redirect: 'manual',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      const { status } = response;
      const message = `The server responded with status ${status}`;
      throw status === 429 || status >= 500 ? new Error(message) : new UnusableResponse(message);
    }
    return parseResponse(await readText(response));
  }
}

/** Contents can be long, so the cache keeps their digests. */
const digestOf = (content: string): string => createHash('sha256').update(content).digest('base64');

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
    if (size > MAX_RESPONSE_BYTES)
      throw new UnusableResponse(`The response is larger than ${MAX_RESPONSE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/**
 * Reads `status` and `reason` of a response. An unknown `reason` is ignored.
 * @throws UnusableResponse if the response is not valid JSON or has no valid status
 */
const parseResponse = (text: string): SourceResult => {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new UnusableResponse('The response is not valid JSON');
  }
  const { status: sentStatus, reason: sentReason } = (answer ?? {}) as { status?: unknown; reason?: unknown };
  const status = ASSET_STATUSES.find((candidate) => candidate === sentStatus);
  const reason = REASONS.find((candidate) => candidate === sentReason);
  if (status === undefined) throw new UnusableResponse('The response has no valid status');
  if (status === 'UNKNOWN')
    return {
      status,
      reason: reason === undefined || reason === 'external-source' || reason === 'parent-domain' ? 'not-found' : reason,
    };
  return reason === 'parent-domain' ? { status, reason } : { status };
};
