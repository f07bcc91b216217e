/** An owner that was idle starts this much below the least used time, in ms, so that the owner is next. */
const HEAD_START_MS = 1;

interface Owner<Job> {
  readonly jobs: Job[];
  /** Processor time that the owner has used, in ms. */
  used: number;
}

/**
 * Queues the jobs of owners that share one processor. The next job belongs to the owner that has used the least time, so
 * that an owner with few jobs hardly waits for owners with many jobs. An idle owner accumulates no credit.
 */
export class FairQueue<Job> {
  /** Owners with queued jobs, and owners without jobs that have used more time than the others. */
  private readonly owners = new Map<string, Owner<Job>>();
  /** The least time that an owner with jobs has used, in ms. Never decreases. */
  private least = 0;
  private waiting = 0;

  get isEmpty(): boolean {
    return this.waiting === 0;
  }

  add(name: string, job: Job): void {
    const initial = this.least - HEAD_START_MS;
    let owner = this.owners.get(name);
    if (owner === undefined) this.owners.set(name, (owner = { jobs: [], used: initial }));
    else if (owner.jobs.length === 0) owner.used = Math.max(owner.used, initial);
    owner.jobs.push(job);
    this.waiting += 1;
  }

  /** @returns the next job and a function that charges its duration in ms to the owner; undefined if the queue is empty */
  take(): { readonly name: string; readonly job: Job; readonly spend: (ms: number) => void } | undefined {
    let next: [string, Owner<Job>] | undefined;
    for (const entry of this.owners) {
      const [name, { jobs, used }] = entry;
      if (jobs.length > 0) {
        if (next === undefined || used < next[1].used) next = entry;
      } else if (this.waiting === 0 || used <= this.least) this.owners.delete(name);
    }
    if (next === undefined) return undefined;
    const [name, owner] = next;
    this.least = Math.max(this.least, owner.used);
    this.waiting -= 1;
    return { name, job: owner.jobs.shift()!, spend: (ms) => void (owner.used += ms) };
  }
}
