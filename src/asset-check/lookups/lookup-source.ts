import { LRUCache } from 'lru-cache';
import type { ParsedContent } from '../../assets/parse-content.js';
import { ASSET_STATUSES } from '../../events/types/asset-statuses.js';
import { FAILED, type Opinion, REASONS, TIMED_OUT } from '../opinion.js';
import { Breaker } from './breaker.js';
import { finishesWithin } from '../../flow/deadline.js';
import { Semaphore } from '../../flow/semaphore.js';
import type { LookupSettings } from '../sources/sources-file.js';

/** How long an answer is cached. ms */
const REMEMBERED_MS = 30_000;
const MAX_REMEMBERED = 10_000;
/** Concurrent requests to one source; the others queue. */
export const MAX_AT_ONCE = 50;
const MAX_ANSWER = 65_536;

/** How a lookup ended. `remembered` and `shared` needed no request of their own; `skipped`: the breaker was open. */
export const OUTCOMES = [
  ...ASSET_STATUSES,
  ...(['error', 'timeout', 'skipped', 'remembered', 'shared'] as const),
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Another service queried over HTTP: `POST { "content": … }`, answered with `status` and `reason`. */
export class LookupSource {
  private readonly breaker = new Breaker();
  private readonly remembered = new LRUCache<string, Opinion>({ max: MAX_REMEMBERED, ttl: REMEMBERED_MS });
  private readonly asking = new Map<string, Promise<Opinion>>();
  private readonly requests = new Semaphore(MAX_AT_ONCE);

  constructor(
    readonly settings: LookupSettings,
    /** Called for each lookup; with the reason if it failed. */
    private readonly onOutcome: (outcome: Outcome, error?: unknown) => void = () => {},
  ) {}

  /** Whether the breaker is open. */
  get isCircuitOpen(): boolean {
    return this.breaker.isOpen;
  }

  /**
   * Never rejects, and never takes longer than the budget.
   * @param deadline `performance.now()` by which the check wants to answer
   */
  ask(content: string, reading: ParsedContent, deadline: number): Opinion | Promise<Opinion> {
    const key = reading.keys[0]!;
    const known = this.remembered.get(key);
    if (known !== undefined) {
      this.onOutcome('remembered');
      return known;
    }
    const asking = this.asking.get(key);
    if (asking !== undefined) {
      this.onOutcome('shared');
      return within(asking, deadline);
    }
    const answer = this.request(content, key, deadline).finally(() => this.asking.delete(key));
    this.asking.set(key, answer);
    return within(answer, deadline);
  }

  private async request(content: string, key: string, deadline: number): Promise<Opinion> {
    await this.requests.acquire();
    try {
      // Checked only now: while this waited in the queue, the source may have failed or the check been answered.
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

  private async attempt(content: string, key: string): Promise<Opinion> {
    const signal = AbortSignal.timeout(this.settings.timeoutMs);
    try {
      const opinion = await this.send(content, signal);
      this.breaker.report(true);
      this.remembered.set(key, opinion);
      this.onOutcome(opinion.status);
      return opinion;
    } catch (error) {
      this.breaker.report(false);
      this.onOutcome(signal.aborted ? 'timeout' : 'error', reasonOf(error));
      return signal.aborted ? TIMED_OUT : FAILED;
    }
  }

  private async send(content: string, signal: AbortSignal): Promise<Opinion> {
    const response = await fetch(this.settings.url, {
      method: 'POST',
      headers: { accept: 'application/json', ...this.settings.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ content }),
      // The remote server does not decide which hosts this one talks to.
      redirect: 'error',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`It answered ${response.status}`);
    }
    return readAnswer(JSON.parse(await readText(response)));
  }
}

/** `fetch` says only that it failed; why is its cause. */
const reasonOf = (error: unknown): unknown =>
  error instanceof Error && error.cause !== undefined ? error.cause : error;

const within = async (answer: Promise<Opinion>, deadline: number): Promise<Opinion> =>
  (await finishesWithin(answer, Math.max(0, deadline - performance.now()))) ? answer : TIMED_OUT;

const readText = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Error(`Its answer is larger than ${MAX_ANSWER} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/**
 * `status` counts whatever `reason` says; an unknown reason is dropped.
 * @throws if it is not a valid answer
 */
const readAnswer = (answer: unknown): Opinion => {
  const { status: sentStatus, reason: sentReason } = (answer ?? {}) as { status?: unknown; reason?: unknown };
  const status = ASSET_STATUSES.find((candidate) => candidate === sentStatus);
  const reason = REASONS.find((candidate) => candidate === sentReason);
  if (status === undefined) throw new Error('Its answer has no status');
  if (status === 'UNKNOWN')
    return {
      status,
      reason: reason === undefined || reason === 'external-source' || reason === 'parent-domain' ? 'not-found' : reason,
    };
  return reason === 'parent-domain' ? { status, reason } : { status };
};
