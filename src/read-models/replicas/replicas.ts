import type { Pool } from 'pg';
import { isDatabaseError, isTransient } from '../../postgres/transient-errors.js';
import { Bag, type Placed } from '../../flow/bag.js';
import { pause } from '../../flow/retry.js';
import { compiled } from '../compiled-statement.js';

/**
 * How often the replicas are looked at, and how long one may take to answer. Together half of what a request waits for the
 * requests before it (`metrics/metrics-queries.ts`), which may be waiting for a silent replica. ms
 */
const LOOK_EVERY_MS = 200;
const LOOK_MS = 300;
/** Looks in a row that the primary leaves unanswered before replicas answer in its place, however far behind they are. */
const LOOKS_IN_VAIN = 5;

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

/** What a read of a replica that no longer answers is ended with. */
class Silent extends Error {}

interface Unanswered extends Placed {
  readonly end: () => void;
}

interface Watched {
  readonly replica: Replica;
  isFit: boolean;
  /** Ends each read that it has not answered yet. */
  readonly unanswered: Bag<Unanswered>;
}

const answeredBy = async <Answer>({ unanswered }: Watched, answer: Promise<Answer>): Promise<Answer> => {
  let read!: Unanswered;
  const silence = new Promise<never>((_, reject) => {
    read = { end: () => reject(new Silent('This replica does not answer')), place: 0 };
  });
  unanswered.add(read);
  try {
    return await Promise.race([answer, silence]);
  } finally {
    unanswered.delete(read);
  }
};

/**
 * Chooses where a read is answered: by a replica that is not too far behind, in turn, else by the primary. A read that
 * a replica cannot answer is asked again of the primary, as a whole, so that no answer is of two servers; so are all that
 * wait for one that is found silent.
 */
export class Replicas {
  private readonly replicas: readonly Watched[];
  private readonly stop = new AbortController();
  private readonly looking: Promise<void>;
  private turn = 0;
  /** Of the primary, when it last answered. ms */
  private newest: number | undefined;
  private inVain = 0;

  constructor(
    replicas: readonly Replica[],
    private readonly primary: Pool,
    private readonly maxLagMs: number,
  ) {
    this.replicas = replicas.map((replica) => ({ replica, isFit: false, unanswered: new Bag<Unanswered>() }));
    this.looking = replicas.length > 0 ? this.look() : Promise.resolve();
  }

  /** @throws what `answer` throws on the primary, and what is no trouble of the database on a replica */
  async read<Answer>(
    kind: 'metrics' | 'records',
    primary: Pool,
    answer: (pool: Pool, isReplica: boolean) => Promise<Answer>,
  ): Promise<Answer> {
    const fit = this.replicas.filter(({ isFit }) => isFit);
    const chosen = fit[(this.turn += 1) % Math.max(1, fit.length)];
    if (chosen === undefined) return answer(primary, false);
    try {
      return await answeredBy(chosen, answer(chosen.replica[kind], true));
    } catch (error) {
      if (error instanceof TooOld || error instanceof Silent) return answer(primary, false);
      if (!isTransient(error) && !isDatabaseError(error)) throw error;
      // Until the next look finds it well again.
      chosen.isFit = false;
      return answer(primary, false);
    }
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.looking;
    await Promise.all(
      this.replicas.flatMap(({ replica: { watch, metrics, records } }) => [watch.end(), metrics.end(), records.end()]),
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
    const looks = this.replicas.map(({ replica }) => asOf(replica.watch));
    const [newest, ...seen] = await Promise.all([asOf(this.primary), ...looks]);
    this.inVain = newest === undefined ? this.inVain + 1 : 0;
    // What the replicas have is all there is then.
    this.newest = this.inVain >= LOOKS_IN_VAIN ? undefined : (newest ?? this.newest);
    for (const [index, one] of this.replicas.entries()) {
      const its = seen[index];
      one.isFit = its !== undefined && (this.newest === undefined || this.newest - its <= this.maxLagMs);
      if (its === undefined) for (const { end } of one.unanswered) end();
    }
  }
}
