import { Semaphore } from '../../flow/semaphore.js';

/** Maximum number of requests in flight. */
const MAX_IN_FLIGHT = 64;
const MAX_PER_ORGANIZATION = 8;
/** Maximum number of concurrent reads of the feed of an organization, which replays with a strict filter repeat without a pause. */
const MAX_READS_PER_ORGANIZATION = 1;
/** Maximum number of requests in flight to endpoints that are not known to respond quickly. */
const MAX_UNRESPONSIVE = 32;

/**
 * Limits the requests in flight. A request first waits for a slot of its organization, so that an organization with many
 * endpoints cannot fill the shared queue. Endpoints that are not known to respond quickly get at most half of all slots.
 */
export class Slots {
  private readonly all = new Semaphore(MAX_IN_FLIGHT);
  private readonly unresponsive = new Semaphore(MAX_UNRESPONSIVE);
  /** Only organizations with requests in flight or waiting. */
  private readonly ofOrganization = new Map<
    string,
    { readonly own: Semaphore; readonly reads: Semaphore; users: number }
  >();

  /** @param isResponsive whether the last delivery to the endpoint succeeded quickly */
  async run<Result>(organization: string, isResponsive: boolean, job: () => Promise<Result>): Promise<Result> {
    let slots = this.ofOrganization.get(organization);
    if (!slots) {
      const [own, reads] = [new Semaphore(MAX_PER_ORGANIZATION), new Semaphore(MAX_READS_PER_ORGANIZATION)];
      this.ofOrganization.set(organization, (slots = { own, reads, users: 0 }));
    }
    slots.users += 1;
    const semaphores = isResponsive ? [slots.own, this.all] : [slots.own, this.unresponsive, this.all];
    for (const semaphore of semaphores) await semaphore.acquire();
    try {
      return await job();
    } finally {
      for (const semaphore of semaphores) semaphore.release();
      slots.users -= 1;
      if (slots.users === 0) this.ofOrganization.delete(organization);
    }
  }

  /** Reads the feed of an organization. Must be called by a job of `run`. */
  async read<Result>(organization: string, job: () => Promise<Result>): Promise<Result> {
    const { reads } = this.ofOrganization.get(organization)!;
    await reads.acquire();
    try {
      return await job();
    } finally {
      reads.release();
    }
  }
}
