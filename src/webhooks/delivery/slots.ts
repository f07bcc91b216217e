import { Semaphore } from '../../flow/semaphore.js';

/** Requests in flight: in all, and of one organization. */
const IN_ALL = 64;
const OF_ORGANIZATION = 8;

/** Who may send now. Each waits for its organization's turn first, so that one with many endpoints fills no queue. */
export class Slots {
  private readonly all = new Semaphore(IN_ALL);
  /** Only organizations with jobs under way or waiting. */
  private readonly ofOrganization = new Map<string, { readonly own: Semaphore; users: number }>();

  async run<Result>(organization: string, job: () => Promise<Result>): Promise<Result> {
    let slots = this.ofOrganization.get(organization);
    if (!slots) this.ofOrganization.set(organization, (slots = { own: new Semaphore(OF_ORGANIZATION), users: 0 }));
    slots.users += 1;
    await slots.own.acquire();
    await this.all.acquire();
    try {
      return await job();
    } finally {
      this.all.release();
      slots.own.release();
      slots.users -= 1;
      if (slots.users === 0) this.ofOrganization.delete(organization);
    }
  }
}
