import { maxFactsOf } from '../../events/facts.js';
import { limit } from '../../limits.js';

/** Numbers of facts by organization; '' stands for the entries of the status history, which have no organization. */
export type Facts = ReadonlyMap<string, number>;

export interface FactSource {
  readonly event: { readonly id: string; readonly type: string; readonly data: object };
}
export type CountFacts = (entry: FactSource) => number;
export const countBound: CountFacts = ({ event }) => maxFactsOf(event);

/** Returns an upper bound of the number of facts of these events, by organization. */
export const tally = (entries: readonly FactSource[], countFacts: CountFacts = countBound): Map<string, number> => {
  const facts = new Map<string, number>();
  for (const entry of entries) {
    const { organization = '' } = entry.event.data as { organization?: string };
    facts.set(organization, (facts.get(organization) ?? 0) + countFacts(entry));
  }
  return facts;
};

export const sumOf = (facts: Facts): number => {
  let sum = 0;
  for (const n of facts.values()) sum += n;
  return sum;
};

const ALWAYS_ADMITTED = limit('facts that are always admitted', 500, 'facts', 'organization', 'as for the process');
/** Of a slow projector's backlog, an organization always gets this part. */
const ALWAYS_ADMITTED_PART = 1 / 3;

/** Counts facts by organization and in total. */
export class FactCounts {
  private readonly counts = new Map<string, number>();
  private sum = 0;

  get total(): number {
    return this.sum;
  }

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

  /** Whether adding these facts would exceed the limit. The first facts always fit. */
  isFullFor(facts: Facts, max: number): boolean {
    return this.sum > 0 && this.sum + sumOf(facts) > max;
  }

  /** Whether most of these facts belong to organizations that already have at least their fair share of the backlog. */
  areMostlyFromHeavy(facts: Facts, max: number): boolean {
    const fairShare = Math.max(Math.min(ALWAYS_ADMITTED, max * ALWAYS_ADMITTED_PART), this.sum / this.counts.size);
    let [wanted, heavy] = [0, 0];
    for (const [organization, n] of facts) {
      wanted += n;
      if ((this.counts.get(organization) ?? 0) >= fairShare) heavy += n;
    }
    return heavy > wanted / 2;
  }
}

/** So long may the projector need for the facts that wait, because the events of all organizations wait behind them. */
const BACKLOG_MS = limit('time until facts that wait are counted', 200, 'ms', 'process', '429');
/** The limit of a projector that has not been measured yet, and the least and the greatest limit. */
const [INITIAL_BACKLOG, MIN_BACKLOG] = [1_500, 300];
const MAX_BACKLOG = limit('facts that wait to be counted', 3_000, 'facts', 'process', '429');
/** How long the projector is observed before the limit changes. It counts an append at once, so less would be noise. */
const OBSERVED_MS = 500;

/**
 * How many facts may wait to be counted: as many as the projector counts in a fixed time. Its rate depends on the
 * machine, on what else runs there and on what the events change, so it is measured.
 */
export class BacklogLimit {
  /** Facts per ms. */
  private rate = INITIAL_BACKLOG / BACKLOG_MS;
  private counted = 0;
  private observedMs = 0;

  /** In facts. */
  get max(): number {
    return Math.min(Math.max(Math.round(this.rate * BACKLOG_MS), MIN_BACKLOG), MAX_BACKLOG);
  }

  /** How many facts the projector counts in this time. */
  factsIn(ms: number): number {
    return (this.max * ms) / BACKLOG_MS;
  }

  /**
   * @param waiting the facts that waited at any moment of this time
   * @param counted those of them that do not wait any more
   */
  observe(waiting: number, counted: number, ms: number): void {
    // A projector that had little to do could have counted more.
    if (waiting < this.max / 4) return;
    this.counted += counted;
    this.observedMs += ms;
    if (this.observedMs < OBSERVED_MS) return;
    this.rate = (this.rate + this.counted / this.observedMs) / 2;
    [this.counted, this.observedMs] = [0, 0];
  }
}
