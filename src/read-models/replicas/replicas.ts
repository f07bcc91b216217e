import type { Pool } from 'pg';
import { isDatabaseError, isTransient } from '../../postgres/transient-errors.js';
import { type Clock, monotonic } from '../../flow/clock.js';
import { type CheckpointRows, type Checkpoints, readCheckpoints } from '../checkpoints/checkpoints.js';
import type { Replica } from '../pools.js';
import { Bag, type Placed } from '../../flow/bag.js';

/**
 * How often the replicas are looked at, and how long one may take to answer. Together half of what a request waits for the
 * requests before it (`metrics/metrics-queries.ts`), which may be waiting for a silent replica. ms
 */
const LOOK_EVERY_MS = 200;
const LOOK_MS = 300;
/** Looks in a row that the primary leaves unanswered before replicas answer in its place, however far behind they are. */
const LOOKS_IN_VAIN = 5;

/** Where the furthest and the last of the projections are; a replica has everything up to `least`. */
interface Progress {
  readonly furthest: number;
  readonly least: number;
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
  /** Every projection had reached this position when the replica last answered. */
  least: number;
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
  /** Where the primary was, oldest first: a replica that has reached the first of them lags by less than the limit. */
  private readonly past: { readonly at: number; readonly furthest: number }[] = [];
  private inVain = 0;

  constructor(
    replicas: readonly Replica[],
    private readonly checkpoints: Pick<Checkpoints, 'current'>,
    private readonly maxLagMs: number,
    private readonly clock: Clock = monotonic,
  ) {
    this.replicas = replicas.map((replica) => ({
      replica,
      isFit: false,
      least: -1,
      unanswered: new Bag<Unanswered>(),
    }));
    this.looking = replicas.length > 0 ? this.look() : Promise.resolve();
  }

  /**
   * @param minPosition the position of the log that the answer must include; a replica without it is not asked
   * @throws what `answer` throws on the primary, and what is no trouble of the database on a replica
   */
  async read<Answer>(
    kind: 'metrics' | 'records',
    primary: Pool,
    answer: (pool: Pool, isReplica: boolean) => Promise<Answer>,
    minPosition = -1,
  ): Promise<Answer> {
    const fit = this.replicas.filter(({ isFit, least }) => isFit && least >= minPosition);
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
      await this.clock.sleep(LOOK_EVERY_MS, this.stop.signal);
    }
  }

  private async lookOnce(): Promise<void> {
    const looks = this.replicas.map(({ replica }) => progressOf(readCheckpoints(replica.watch, LOOK_MS)));
    const [primary, ...seen] = await Promise.all([progressOf(this.checkpoints.current()), ...looks]);
    this.inVain = primary === undefined ? this.inVain + 1 : 0;
    if (primary !== undefined) this.note(primary.furthest);
    // If the primary stays silent, what the replicas have is all there is.
    const required = this.inVain >= LOOKS_IN_VAIN ? -1 : (this.past[0]?.furthest ?? -1);
    for (const [index, one] of this.replicas.entries()) {
      const its = seen[index];
      one.isFit = its !== undefined && its.furthest >= required;
      one.least = its?.least ?? -1;
      if (its === undefined) for (const { end } of one.unanswered) end();
    }
  }

  /** Keeps one position that is older than the limit, and those after it. */
  private note(furthest: number): void {
    const now = this.clock.now();
    this.past.push({ at: now, furthest });
    while (this.past.length > 1 && this.past[1]!.at <= now - this.maxLagMs) this.past.shift();
  }
}

const progressOf = (reading: Promise<CheckpointRows>): Promise<Progress | undefined> =>
  reading.then(
    (rows) => {
      const positions = [...rows.values()].map(({ position }) => position);
      return { furthest: Math.max(-1, ...positions), least: positions.length === 0 ? -1 : Math.min(...positions) };
    },
    () => undefined,
  );

/** Answers everything from the primary. */
export const NO_REPLICAS = new Replicas([], { current: async () => new Map() }, 0);
