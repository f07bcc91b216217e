import type { Pool } from 'pg';
import { Counter, type Registry } from 'prom-client';
import { type FailureReport, reportFailures } from '../flow/background.js';
import { allEnded } from '../flow/shared-work.js';
import { type Clock, monotonic } from '../flow/time.js';
import { limit } from '../limits.js';
import { READ_CLOCK } from '../postgres/statement.js';
import { Lease } from '../read-models/lease.js';
import { type BuiltLists, GUARDS } from './built-lists.js';
import { VersionMoved } from './list-versions.js';
import { ListNames } from './names/list-names.js';
import { publishLists, type Signer } from './publish-lists.js';
import { BrokenVersions, type ServedList } from './served-list.js';

/** The time from the begin of one build to the begin of the next one. */
const INTERVAL_MS = limit('interval of the versions of a list', 1_500, 'ms', 'list', 'waits');
/** How often unchanged lists are stored as current. */
const CHECKED_EVERY_MS = 30_000;
/** How long lists with a source are kept if no process that could build them has read the source, in ms. */
const KEPT_WITH_SOURCE_MS = limit('a list without a source that it had', 3_600_000, 'ms', 'list', 'is not published');
/** How long a process that lacks a source leaves the lease to others, in ms. */
const YIELDED_MS = 10_000;
const LANE = 'lists';

/**
 * Builds the lists. Returns undefined if nothing has changed since the last call.
 * @param cutAt the present, in ms by the database's clock
 */
export type Build = (cutAt: number) => Promise<BuiltLists | undefined>;

/** This process has not read a source that the published lists have. Without it, clients would unblock its entries. */
export class SourcesMissing extends Error {}

/**
 * Builds and publishes the lists while this process holds the lease. The lease saves work; two processes that build at
 * once publish nothing wrong, because the second one finds that the lists have moved.
 */
export class ListPublishing {
  private readonly report: FailureReport;
  private readonly builds: Counter<'outcome'>;
  private last: BuiltLists | undefined;
  /** What was published last, and the versions that it led to. */
  private publishedLists: BuiltLists | undefined;
  private published: string | undefined;
  private checkedAt = -Infinity;
  private readonly names: ListNames;

  /**
   * @param served the lists as this process serves them
   * @param follow reads their newest versions
   */
  constructor(
    private readonly pool: Pool,
    private readonly served: readonly ServedList[],
    private readonly follow: () => Promise<void>,
    private readonly build: Build,
    registry: Registry,
    private readonly signer?: Signer,
    private readonly clock: Clock = monotonic,
  ) {
    this.report = reportFailures('build local lists', registry);
    this.names = new ListNames(pool, clock);
    this.builds = new Counter({
      name: 'threat_protection_list_builds_total',
      help: 'Builds of the local lists, by outcome: `stored` a version, `unchanged`, or `moved` by another process',
      labelNames: ['outcome'],
      registers: [registry],
    });
    for (const outcome of ['stored', 'unchanged', 'moved']) this.builds.inc({ outcome }, 0);
  }

  /** Builds until `signal` aborts. Other processes take over when this process loses the lease. */
  async run(signal: AbortSignal): Promise<void> {
    const lease = new Lease(this.pool, LANE, { onError: (sentence) => this.report.failed(new Error(sentence)) });
    while (!signal.aborted)
      // The table of the leases may be missing for a while, as during a restore.
      await this.buildWhileLeased(lease, signal).catch(async (error: unknown) => {
        this.report.failed(error);
        await this.clock.sleep(INTERVAL_MS, signal);
      });
  }

  /** @throws the database's error that a lease does not wait for */
  private async buildWhileLeased(lease: Lease, signal: AbortSignal): Promise<void> {
    if ((await lease.acquire(signal)) === undefined) return;
    const lost = new AbortController();
    const ended = AbortSignal.any([signal, lost.signal]);
    let isMissing = false;
    const building = async (): Promise<void> => {
      while (!ended.aborted) {
        const startedAt = this.clock.now();
        await this.round().catch((error: unknown) => {
          this.report.failed(error);
          isMissing = error instanceof SourcesMissing;
          if (isMissing) lost.abort();
        });
        await this.clock.sleep(startedAt + INTERVAL_MS - this.clock.now(), ended);
      }
    };
    await allEnded([lease.hold(() => lost.abort(), ended).finally(() => lost.abort()), building()]);
    if (signal.aborted || isMissing) await lease.release().catch(() => {});
    if (isMissing) await this.clock.sleep(YIELDED_MS, signal);
  }

  /**
   * Builds once, and publishes what differs from the stored versions, which may have been restored, or be broken.
   * @throws SourcesMissing; the error of the build; the database's error
   */
  async round(): Promise<void> {
    await this.followStored();
    const before = this.state();
    const [{ now: cutAt } = { now: 0 }] = await READ_CLOCK.run(this.pool, {});
    this.last = (await this.build(cutAt)) ?? this.last;
    if (this.last === undefined) return;
    await this.followStored();
    // What another process has published meanwhile may be newer than this build.
    if (this.state() !== before) return this.count('moved');
    this.requireSources(this.last);
    const isChecked = this.clock.now() < this.checkedAt + CHECKED_EVERY_MS;
    if (this.published !== before) this.names.reset();
    await this.names.store(this.last, this.served);
    if (this.published === before && isChecked && this.last === this.publishedLists) return this.count('unchanged');
    try {
      const isStored = await publishLists(this.pool, this.served, this.last, {
        cutAt,
        signer: this.signer,
        isForeign: this.published !== before,
      });
      this.count(isStored ? 'stored' : 'unchanged');
    } catch (error) {
      this.names.reset();
      if (!(error instanceof VersionMoved)) throw error;
      return this.count('moved');
    }
    await this.names.unlistOthers(this.last);
    await this.follow();
    this.published = this.state();
    this.publishedLists = this.last;
    this.checkedAt = this.clock.now();
  }

  private async followStored(): Promise<void> {
    await this.follow().catch((error: unknown) => {
      if (!(error instanceof BrokenVersions)) throw error;
      this.report.failed(error);
    });
  }

  /** @throws SourcesMissing */
  private requireSources({ unread }: BuiltLists): void {
    const { head } = this.served.find(({ name }) => name === 'all-8b')!;
    if (head === undefined || head.number === 0 || head.ageMs > KEPT_WITH_SOURCE_MS) return;
    const missing = unread.filter((id) => id === GUARDS || head.covers.includes(id));
    if (missing.length > 0)
      throw new SourcesMissing(
        `${missing.map((id) => (id === GUARDS ? 'A guard' : `Source ${id}`)).join(', ')} could not be read, but the local ` +
          'lists have it; they stay as they are for an hour or until a process has read it',
      );
  }

  private state(): string {
    return this.served.map(({ current, isBroken }) => (isBroken ? '' : current?.token)).join();
  }

  private count(outcome: 'stored' | 'unchanged' | 'moved'): void {
    this.builds.inc({ outcome });
  }
}
