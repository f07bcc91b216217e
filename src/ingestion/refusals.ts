import type { CloudEvent } from './cloud-event.js';

/** Why events are refused, for counts: a fixed set. The sentences for the sender are in the answer. */
export const REJECT_REASONS = [
  /** An attribute of the CloudEvent is missing or wrong, or nothing could be read. */
  'attributes',
  'unknown-type',
  /** A type that the service stores itself. */
  'own-type',
  'data',
  /** What the key, which is one organization's own, may not send. */
  'not-permitted',
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** Events of a request that were refused for one reason. */
export interface Refusal {
  readonly reason: RejectReason;
  /** An upstream type, or `other`. */
  readonly type: string;
  count: number;
  /** The first of them, and what is wrong with it. */
  readonly event: CloudEvent;
  readonly issues: readonly string[];
}

/** What was refused of one request, by type and reason. */
export class Refusals {
  private readonly found = new Map<string, Refusal>();

  add(reason: RejectReason, type: string, event: CloudEvent, issues: readonly string[]): void {
    const key = `${reason} ${type}`;
    const known = this.found.get(key);
    if (known === undefined) this.found.set(key, { reason, type, count: 1, event, issues });
    else known.count += 1;
  }

  all(): readonly Refusal[] {
    return [...this.found.values()];
  }
}
