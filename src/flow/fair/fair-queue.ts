/** An owner that was idle starts with this much less than the least used time, in ms, so that its job is next. */
const HEAD_START_MS = 1;

interface Owner<Job> {
  readonly jobs: Job[];
  /** Time that the owner has used, in ms. */
  usedMs: number;
}

/**
 * Queues the jobs of owners that share one processor or a set of slots. The next job belongs to the owner that has used the least time, so
 * that an owner with few jobs hardly waits for owners with many jobs. An idle owner accumulates no credit.
 */
export class FairQueue<Job> {
  /** Owners with queued jobs, and owners without jobs that have used more time than `leastUsedMs`. */
  private readonly owners = new Map<string, Owner<Job>>();
  /** The least time that an owner with jobs has used, in ms. Never decreases. */
  private leastUsedMs = 0;
  private waiting = 0;

  get isEmpty(): boolean {
    return this.waiting === 0;
  }

  add(name: string, job: Job): void {
    const initial = this.leastUsedMs - HEAD_START_MS;
    let owner = this.owners.get(name);
    if (owner === undefined) this.owners.set(name, (owner = { jobs: [], usedMs: initial }));
    else if (owner.jobs.length === 0) owner.usedMs = Math.max(owner.usedMs, initial);
    owner.jobs.push(job);
    this.waiting += 1;
  }

  /**
   * @param mayRun whether an owner may have its next job now
   * @returns the next job and a function that charges its duration in ms to the owner; undefined if there is no such job
   */
  take(
    mayRun: (name: string) => boolean = () => true,
  ): { readonly name: string; readonly job: Job; readonly spend: (ms: number) => void } | undefined {
    let next: [string, Owner<Job>] | undefined;
    for (const entry of this.owners) {
      const [name, { jobs, usedMs }] = entry;
      if (jobs.length > 0) {
        if ((next === undefined || usedMs < next[1].usedMs) && mayRun(name)) next = entry;
      } else if (this.waiting === 0 || usedMs <= this.leastUsedMs) this.owners.delete(name);
    }
    if (next === undefined) return undefined;
    const [name, owner] = next;
    this.leastUsedMs = Math.max(this.leastUsedMs, owner.usedMs);
    this.waiting -= 1;
    return { name, job: owner.jobs.shift()!, spend: (ms) => void (owner.usedMs += ms) };
  }
}
