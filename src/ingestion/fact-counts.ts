import { maxFactsOf } from '../events/facts.js';

/** Facts per organization; '' = entries of the status history. */
export type Facts = ReadonlyMap<string, number>;

export interface Weighable {
  readonly event: { readonly id: string; readonly type: string; readonly data: object };
}
export type Weigh = (entry: Weighable) => number;
export const factBoundOf: Weigh = ({ event }) => maxFactsOf(event);

/** An upper bound of these events' facts by organization. */
export const tally = (entries: readonly Weighable[], weigh: Weigh = factBoundOf): Map<string, number> => {
  const facts = new Map<string, number>();
  for (const entry of entries) {
    const { organization = '' } = entry.event.data as { organization?: string };
    facts.set(organization, (facts.get(organization) ?? 0) + weigh(entry));
  }
  return facts;
};

/** Facts above which the organizations with the most of them are held back. */
export interface Bounds {
  /** Of all organizations. */
  readonly window: number;
  /** An organization with fewer is never held back. */
  readonly harmless: number;
}

/** How many facts each organization has, and all together. */
export class FactCounts {
  private readonly counts = new Map<string, number>();
  private sum = 0;

  constructor(private readonly bounds: Bounds) {}

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

  /** Whether they do not fit in beside what is here. */
  isFullFor(facts: Facts): boolean {
    let wanted = 0;
    for (const n of facts.values()) wanted += n;
    return this.sum > 0 && this.sum + wanted > this.bounds.window;
  }

  /** Whether most of them are of organizations that already have at least their fair share of what is here. */
  areOfHeavy(facts: Facts): boolean {
    const fairShare = Math.max(this.bounds.harmless, this.sum / this.counts.size);
    let [wanted, heavy] = [0, 0];
    for (const [organization, n] of facts) {
      wanted += n;
      if ((this.counts.get(organization) ?? 0) >= fairShare) heavy += n;
    }
    return heavy > wanted / 2;
  }
}
