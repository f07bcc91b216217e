import type { Pool } from 'pg';
import { isDatabaseError, isTransient } from '../../postgres/transient-errors.js';
import { pause } from '../../flow/retry.js';
import { compiled } from '../compiled-statement.js';

/** How often the replicas are looked at. ms */
const LOOK_EVERY_MS = 1_000;
const LOOK_MS = 1_000;

/** The instant up to which the furthest projection has counted: the projector moves it four times a second. */
const readAsOf = compiled('replica-as-of', (db) =>
  db.selectFrom('checkpoints').select(({ fn }) => fn.max<number | null>('as_of').as('asOf')),
);

/** A standby that answers reads. */
export interface Replica {
  /** For looks at it. */
  readonly watch: Pool;
  readonly metrics: Pool;
  readonly records: Pool;
}

/** What an answer from a replica throws that would be older than what its reader has seen. */
export class TooOld extends Error {}

/**
 * Chooses where a read is answered: by a replica that is not too far behind, in turn, else by the primary. A read that
 * a replica cannot answer is asked again of the primary, as a whole, so that no answer is of two servers.
 */
export class Replicas {
  private readonly fit = new Set<Replica>();
  private readonly stop = new AbortController();
  private readonly looking: Promise<void>;
  private turn = 0;

  constructor(
    private readonly replicas: readonly Replica[],
    private readonly primary: Pool,
    private readonly maxLagMs: number,
  ) {
    this.looking = replicas.length > 0 ? this.look() : Promise.resolve();
  }

  /** @throws what `answer` throws on the primary, and what is no trouble of the database on a replica */
  async read<Answer>(
    kind: 'metrics' | 'records',
    primary: Pool,
    answer: (pool: Pool, isReplica: boolean) => Promise<Answer>,
  ): Promise<Answer> {
    const replica = [...this.fit][(this.turn += 1) % Math.max(1, this.fit.size)];
    if (replica === undefined) return answer(primary, false);
    try {
      return await answer(replica[kind], true);
    } catch (error) {
      if (error instanceof TooOld) return answer(primary, false);
      if (!isTransient(error) && !isDatabaseError(error)) throw error;
      // Until the next look finds it well again.
      this.fit.delete(replica);
      return answer(primary, false);
    }
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.looking;
    await Promise.all(
      this.replicas.flatMap(({ watch, metrics, records }) => [watch.end(), metrics.end(), records.end()]),
    );
  }

  private async look(): Promise<void> {
    while (!this.stop.signal.aborted) {
      await this.lookOnce();
      await pause(LOOK_EVERY_MS, this.stop.signal);
    }
  }

  private async lookOnce(): Promise<void> {
    const asOf = async (pool: Pool): Promise<number | undefined> =>
      readAsOf(pool, {}, LOOK_MS).then(
        ([row]) => row!.asOf ?? 0,
        () => undefined,
      );
    const [newest, ...seen] = await Promise.all([asOf(this.primary), ...this.replicas.map(({ watch }) => asOf(watch))]);
    for (const [index, replica] of this.replicas.entries()) {
      const its = seen[index];
      // While the primary does not answer, what the replicas have is all there is.
      if (its !== undefined && (newest === undefined || newest - its <= this.maxLagMs)) this.fit.add(replica);
      else this.fit.delete(replica);
    }
  }
}
