import { maxFactsOf } from '../events/facts.js';

/** Numbers of facts by organization; '' stands for the entries of the status history, which have no organization. */
export type Facts = ReadonlyMap<string, number>;

export interface FactSource {
  readonly event: { readonly id: string; readonly type: string; readonly data: object };
}
export type CountFacts = (entry: FactSource) => number;
export const factBoundOf: CountFacts = ({ event }) => maxFactsOf(event);

/** Returns an upper bound of the number of facts of these events, by organization. */
export const tally = (entries: readonly FactSource[], countFacts: CountFacts = factBoundOf): Map<string, number> => {
  const facts = new Map<string, number>();
  for (const entry of entries) {
    const { organization = '' } = entry.event.data as { organization?: string };
    facts.set(organization, (facts.get(organization) ?? 0) + countFacts(entry));
  }
  return facts;
};

/** The limits above which requests of the organizations with the most facts are held. */
export interface FactLimits {
  /** The maximum number of facts of all organizations together. */
  readonly backlog: number;
  /** Requests of an organization with fewer facts are never held. */
  readonly alwaysAdmitted: number;
}

/** Counts facts by organization and in total. */
export class FactCounts {
  private readonly counts = new Map<string, number>();
  private sum = 0;

  constructor(private readonly limits: FactLimits) {}

  add(facts: Facts): void {
    for (const [organization, n] of facts) {
      this.counts.set(organization, (this.counts.get(organization) ?? 0) + n);
      this.sum += n;
    }
  }

  remove(facts: Facts): void {
    for (const [organization, n] of facts) {
      const left = (this.counts.get(organization) ?? 0) - n;
      if (left > 0) this.counts.set(organization, left);
      else this.counts.delete(organization);
      this.sum -= n;
    }
  }

  /** Whether adding these facts would exceed the backlog limit. */
  isFullFor(facts: Facts): boolean {
    let wanted = 0;
    for (const n of facts.values()) wanted += n;
    return this.sum > 0 && this.sum + wanted > this.limits.backlog;
  }

  /** Whether most of these facts belong to organizations that already have at least their fair share of the backlog. */
  areMostlyFromHeavy(facts: Facts): boolean {
    const fairShare = Math.max(this.limits.alwaysAdmitted, this.sum / this.counts.size);
    let [wanted, heavy] = [0, 0];
    for (const [organization, n] of facts) {
      wanted += n;
      if ((this.counts.get(organization) ?? 0) >= fairShare) heavy += n;
    }
    return heavy > wanted / 2;
  }
}
