import type { CloudEvent } from '../receive/cloud-event.js';

/** Reasons for rejecting events, a fixed set for counting. The messages for the sender are in the answer. */
export const REJECT_REASONS = [
  /** A CloudEvents attribute is missing or invalid, or the event is unreadable. */
  'attributes',
  'unknown-type',
  /** A type reserved for the service itself. */
  'own-type',
  'data',
  /** Not allowed for an organization's own key. */
  'not-permitted',
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** Events of a request rejected for one reason. */
export interface Refusal {
  readonly reason: RejectReason;
  /** An upstream type, or `other`. */
  readonly type: string;
  count: number;
  /** The first of them, and its problems. */
  readonly event: CloudEvent;
  readonly issues: readonly string[];
}

/** A request's rejected events by type and reason. */
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
