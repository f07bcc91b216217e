/** How far behind the others an owner is put that had nothing to do: enough to be next. ms */
const HEAD_START_MS = 1;

interface Owner<Job> {
  readonly jobs: Job[];
  /** Time it has used, on the clock that all owners share. ms */
  used: number;
}

/**
 * The jobs of owners that share one processor: the next is of the owner that has used the least time, so that one that
 * asks for little hardly waits for those that ask for much. Having had nothing to do saves up no time.
 */
export class FairQueue<Job> {
  /** Those with jobs, and those that used more than the others before they ran out of them. */
  private readonly owners = new Map<string, Owner<Job>>();
  /** The least that an owner with jobs has used. It never goes back. ms */
  private least = 0;
  private waiting = 0;

  get isEmpty(): boolean {
    return this.waiting === 0;
  }

  add(name: string, job: Job): void {
    const newcomer = this.least - HEAD_START_MS;
    let owner = this.owners.get(name);
    if (owner === undefined) this.owners.set(name, (owner = { jobs: [], used: newcomer }));
    else if (owner.jobs.length === 0) owner.used = Math.max(owner.used, newcomer);
    owner.jobs.push(job);
    this.waiting += 1;
  }

  /** @returns the next job and a function that takes the ms it took; undefined if the queue is empty */
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
