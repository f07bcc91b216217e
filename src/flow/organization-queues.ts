import { Unavailable } from '../errors.js';

interface Waiting {
  readonly reject: (error: unknown) => void;
}

/**
 * One queue per organization. The batches of an organization run one after another, concurrently with the batches of
 * other organizations.
 */
export class OrganizationQueues<Item extends Waiting> {
  /** Organizations with a running batch, and the items that wait behind the batch. */
  private readonly waiting = new Map<string, Item[]>();

  /**
   * @param takeBatch removes the next batch from a non-empty queue
   * @param processBatch settles each item of a batch; if `processBatch` throws, unsettled items fail with the error
   */
  constructor(
    private readonly takeBatch: (queue: Item[]) => readonly Item[],
    private readonly processBatch: (organization: string, batch: readonly Item[]) => Promise<void>,
  ) {}

  /** The items that wait behind the running batch. */
  waitingItems(organization: string): readonly Item[] {
    return this.waiting.get(organization) ?? [];
  }

  add(organization: string, item: Item): void {
    const queue = this.waiting.get(organization);
    if (queue !== undefined) return void queue.push(item);
    const begun = [item];
    this.waiting.set(organization, begun);
    void this.work(organization, begun);
  }

  private async work(organization: string, queue: Item[]): Promise<void> {
    while (queue.length > 0) {
      const batch = this.takeBatch(queue);
      try {
        await this.processBatch(organization, batch);
      } catch (error) {
        // If a dependency is unavailable, the items behind the batch are rejected too, because these items have waited
        // as long as the batch.
        const failed = error instanceof Unavailable ? [...batch, ...queue.splice(0)] : batch;
        for (const { reject } of failed) reject(error);
      }
    }
    this.waiting.delete(organization);
  }
}
