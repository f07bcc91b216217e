import { Unavailable } from '../errors.js';

interface Waiting {
  readonly reject: (error: unknown) => void;
}

/** One queue per organization. The batches of an organization run one after another, concurrently with those of others. */
export class OrganizationQueues<One extends Waiting> {
  /** Organizations with a running batch, and the items that wait behind the batch. */
  private readonly waiting = new Map<string, One[]>();

  /**
   * @param takeBatch removes the next batch from a non-empty queue
   * @param processBatch settles each item of a batch; if it throws, unsettled items fail with the error
   */
  constructor(
    private readonly takeBatch: (queue: One[]) => readonly One[],
    private readonly processBatch: (organization: string, batch: readonly One[]) => Promise<void>,
  ) {}

  /** The items that wait behind the running batch. */
  behind(organization: string): readonly One[] {
    return this.waiting.get(organization) ?? [];
  }

  add(organization: string, one: One): void {
    const queue = this.waiting.get(organization);
    if (queue !== undefined) return void queue.push(one);
    const begun = [one];
    this.waiting.set(organization, begun);
    void this.work(organization, begun);
  }

  private async work(organization: string, queue: One[]): Promise<void> {
    while (queue.length > 0) {
      const batch = this.takeBatch(queue);
      try {
        await this.processBatch(organization, batch);
      } catch (error) {
        // If a dependency is unavailable, the items behind the batch are rejected too, because they have waited as long.
        const failed = error instanceof Unavailable ? [...batch, ...queue.splice(0)] : batch;
        for (const { reject } of failed) reject(error);
      }
    }
    this.waiting.delete(organization);
  }
}
