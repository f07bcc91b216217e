import type { CloudEvent } from '../receive/cloud-event.js';

/** The reasons for which events are rejected and counted. The response has detailed messages for the sender. */
export const REJECT_REASONS = [
  /** A CloudEvents attribute is missing or invalid, or the event is unreadable. */
  'attributes',
  'unknown-type',
  /** A type reserved for the service itself. */
  'own-type',
  'data',
  /** Not allowed for an organization's own key. */
  'not-permitted',
  /** The organization of the event was erased. */
  'erased',
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** The events of a request that were rejected with the same reason and type. */
export interface RejectionGroup {
  readonly reason: RejectReason;
  /** An upstream type, or `other`. */
  readonly type: string;
  count: number;
  /** The first of these events, and its problems. */
  readonly event: CloudEvent;
  readonly issues: readonly string[];
}

/** Groups the rejected events of a request by reason and type. */
export class RejectionGroups {
  private readonly found = new Map<string, RejectionGroup>();

  add(reason: RejectReason, type: string, event: CloudEvent, issues: readonly string[]): void {
    const key = `${reason} ${type}`;
    const known = this.found.get(key);
    if (known === undefined) this.found.set(key, { reason, type, count: 1, event, issues });
    else known.count += 1;
  }

  all(): readonly RejectionGroup[] {
    return [...this.found.values()];
  }
}
