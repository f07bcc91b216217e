import { TooManyRequests, Unavailable } from '../errors.js';

const MAX_OF_ORGANIZATION = 64;
const MAX_IN_ALL = 2_000;
const RETRY_AFTER_SECONDS = 1;

/** Limits how many requests wait in this process for new events or for a position of the log, per organization and in total. */
export class WaitingRequests {
  private readonly byOrganization = new Map<string, number>();
  private total = 0;

  /** @param maxInAll the maximum number of requests that wait in total */
  constructor(private readonly maxInAll = MAX_IN_ALL) {}

  /** The number of requests that are waiting now. */
  get size(): number {
    return this.total;
  }

  /**
   * Counts a request as waiting while `wait` runs.
   * @throws TooManyRequests if 64 requests of the organization are waiting, Unavailable if too many requests are waiting in total
   */
  async run<Result>(organization: string, wait: () => Promise<Result>): Promise<Result> {
    const count = this.byOrganization.get(organization) ?? 0;
    if (count >= MAX_OF_ORGANIZATION)
      throw new TooManyRequests(
        RETRY_AFTER_SECONDS,
        `At most ${MAX_OF_ORGANIZATION} requests of an organization may wait for new data; retry later, or without timeout and Consistency-Token`,
      );
    if (this.total >= this.maxInAll)
      throw new Unavailable(
        'Too many requests are waiting for new data; retry later, or without timeout and Consistency-Token',
        RETRY_AFTER_SECONDS,
      );
    this.byOrganization.set(organization, count + 1);
    this.total += 1;
    try {
      return await wait();
    } finally {
      this.total -= 1;
      const left = this.byOrganization.get(organization)! - 1;
      if (left === 0) this.byOrganization.delete(organization);
      else this.byOrganization.set(organization, left);
    }
  }
}
