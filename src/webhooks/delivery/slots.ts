import { Semaphore } from '../../flow/semaphore.js';

/** Requests in flight: in all, of one organization, and to endpoints of which it is not known that they answer soon. */
const IN_ALL = 64;
const OF_ORGANIZATION = 8;
const UNPROVEN = 32;

/**
 * Who may send now. Each waits for its organization's turn first, so that one with many endpoints fills no queue; and
 * however many organizations have endpoints that keep a request waiting, half of the slots are free for the others.
 */
export class Slots {
  private readonly all = new Semaphore(IN_ALL);
  private readonly unproven = new Semaphore(UNPROVEN);
  /** Only organizations with jobs under way or waiting. */
  private readonly ofOrganization = new Map<string, { readonly own: Semaphore; users: number }>();

  /** @param isProven whether the endpoint took its last delivery, and soon */
  async run<Result>(organization: string, isProven: boolean, job: () => Promise<Result>): Promise<Result> {
    let slots = this.ofOrganization.get(organization);
    if (!slots) this.ofOrganization.set(organization, (slots = { own: new Semaphore(OF_ORGANIZATION), users: 0 }));
    slots.users += 1;
    const taken = isProven ? [slots.own, this.all] : [slots.own, this.unproven, this.all];
    for (const each of taken) await each.acquire();
    try {
      return await job();
    } finally {
      for (const each of taken) each.release();
      slots.users -= 1;
      if (slots.users === 0) this.ofOrganization.delete(organization);
    }
  }
}
