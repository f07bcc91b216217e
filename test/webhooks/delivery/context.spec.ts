import { describe, expect, it } from '@jest/globals';
import { Slots } from '../../../src/webhooks/delivery/context.js';

/** Jobs that run until the spec ends them, with the number of jobs so far and the highest number of concurrent jobs. */
class Jobs {
  readonly running = new Map<string, number>();
  most = 0;
  private readonly ends: (() => void)[] = [];

  readonly of = (organization: string) => async (): Promise<void> => {
    this.running.set(organization, (this.running.get(organization) ?? 0) + 1);
    this.most = Math.max(this.most, this.count);
    await new Promise<void>((end) => this.ends.push(end));
    this.running.set(organization, this.running.get(organization)! - 1);
  };

  get count(): number {
    return [...this.running.values()].reduce((sum, each) => sum + each, 0);
  }

  endAll(): void {
    for (const end of this.ends.splice(0)) end();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const organizations = (count: number): string[] => Array.from({ length: count }, (_, n) => `o${n}`);

describe('Slots', () => {
  it('allow at most 64 requests in flight, and 8 per organization, and every request gets its turn', async () => {
    const [slots, jobs] = [new Slots(), new Jobs()];
    let done = 0;
    for (const name of organizations(20))
      for (let n = 0; n < 10; n += 1) void slots.run(name, true, jobs.of(name)).then(() => (done += 1));
    await settled();
    expect(jobs.count).toBe(64);
    expect(Math.max(...jobs.running.values())).toBe(8);
    for (; done < 200; await settled()) jobs.endAll();
    expect([jobs.most, jobs.count]).toEqual([64, 0]);
  });

  it('allow 8 requests of an organization with more endpoints even if slots are free, and free the slot of a failed request', async () => {
    const [slots, jobs] = [new Slots(), new Jobs()];
    for (let n = 0; n < 100; n += 1)
      await slots.run('o', n % 2 === 0, () => Promise.reject(new Error('failed'))).catch(() => {});
    for (let n = 0; n < 10; n += 1) void slots.run('o', true, jobs.of('o'));
    await settled();
    expect(jobs.count).toBe(8);
    jobs.endAll();
    await settled();
    expect(jobs.count).toBe(2);
  });

  it('allow one read of the feed at a time per organization, while other organizations read', async () => {
    const [slots, jobs] = [new Slots(), new Jobs()];
    let done = 0;
    const readAs = (name: string): void =>
      void slots.run(name, true, () => slots.read(name, jobs.of(name))).then(() => (done += 1));
    for (let n = 0; n < 8; n += 1) readAs('o');
    readAs('other');
    await settled();
    expect(Object.fromEntries(jobs.running)).toEqual({ o: 1, other: 1 });
    await slots
      .run('failing', true, () => slots.read('failing', () => Promise.reject(new Error('failed'))))
      .catch(() => {});
    for (; done < 9; await settled()) jobs.endAll();
    expect(jobs.most).toBe(2);
  });

  it('allow 32 requests to endpoints that may be slow, so that responsive endpoints get a slot', async () => {
    const [slots, jobs] = [new Slots(), new Jobs()];
    for (const name of organizations(20)) for (let n = 0; n < 10; n += 1) void slots.run(name, false, jobs.of(name));
    await settled();
    expect(jobs.count).toBe(32);
    let isDone = false;
    await slots.run('other', true, async () => void (isDone = true));
    expect(isDone).toBe(true);
  });
});
