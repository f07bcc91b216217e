import { Unavailable } from '../errors.js';
import { asUnavailable } from '../postgres/transient-errors.js';

interface Waiting {
  readonly reject: (error: unknown) => void;
}

/** A queue for each organization: its batches are processed one after the other, those of others beside them. */
export class OrganizationQueues<One extends Waiting> {
  /** The organizations that are being worked on, with what waits behind that. */
  private readonly waiting = new Map<string, One[]>();

  /**
   * @param takeBatch removes the next batch from a queue that is not empty
   * @param processBatch answers each of a batch; what it throws is the answer of all that have none
   */
  constructor(
    private readonly takeBatch: (queue: One[]) => readonly One[],
    private readonly processBatch: (organization: string, batch: readonly One[]) => Promise<void>,
  ) {}

  /** What waits behind the batch being processed. */
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
      } catch (caught) {
        const error = asUnavailable(caught);
        // Those that waited behind what is away have waited long enough.
        const failed = error instanceof Unavailable ? [...batch, ...queue.splice(0)] : batch;
        for (const { reject } of failed) reject(error);
      }
    }
    this.waiting.delete(organization);
  }
}
