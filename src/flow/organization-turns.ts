import { TooManyRequests, Unavailable, Unprocessable } from '../errors.js';

export interface TurnLimits {
  /** What takes turns, in the plural, as messages to clients name it: `metrics queries`. */
  readonly name: string;
  /** Concurrent ones per organization, in this process. */
  readonly running: number;
  /** Distinct ones of an organization that may wait for their turn. */
  readonly waiting: number;
  /** How long one waits for its turn. ms */
  readonly patience: number;
  /**
   * How long a turn stays taken after an answer that would be too large (`Unprocessable`). It has cost as much as any may,
   * and nothing keeps its sender from asking again at once. ms
   */
  readonly rest: number;
}

const RETRY_AFTER_SECONDS = 1;

interface Waiting {
  readonly answer: Promise<unknown>;
  readonly begin: () => void;
}

interface Queue {
  running: number;
  /** By question, in order of arrival. */
  readonly waiting: Map<string | symbol, Waiting>;
}

/**
 * Limits each organization to a few concurrent jobs of a kind, so that a busy one waits for itself and the others find
 * connections. Equal questions share one run (single flight), but only one that has not begun: no answer is older than
 * its request, so what a client has seen once is in every later answer.
 */
export class OrganizationTurns {
  /** Only organizations with jobs under way. */
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly limits: TurnLimits) {}

  /**
   * @param question equal if the answers are equal; undefined if the answer is never shared
   * @throws TooManyRequests if too many of the organization are waiting already
   * @throws Unavailable if the turn does not come in time
   */
  runInTurn<Answer>(organization: string, question: string | undefined, job: () => Promise<Answer>): Promise<Answer> {
    let queue = this.queues.get(organization);
    if (!queue) this.queues.set(organization, (queue = { running: 0, waiting: new Map() }));
    const equal = question === undefined ? undefined : queue.waiting.get(question);
    if (equal) return equal.answer as Promise<Answer>;
    if (queue.running < this.limits.running) return this.run(organization, queue, job);
    if (queue.waiting.size < this.limits.waiting) return this.wait(organization, queue, question ?? Symbol(), job);
    throw new TooManyRequests(
      RETRY_AFTER_SECONDS,
      `Too many ${this.limits.name} of this organization are waiting; retry after the number of seconds in Retry-After`,
    );
  }

  private wait<Answer>(
    organization: string,
    queue: Queue,
    question: string | symbol,
    job: () => Promise<Answer>,
  ): Promise<Answer> {
    let begin!: () => void;
    const answer = new Promise<Answer>((resolve, reject) => {
      const impatience = setTimeout(() => {
        queue.waiting.delete(question);
        reject(new Unavailable(`Earlier ${this.limits.name} of this organization take too long; try again`));
      }, this.limits.patience).unref();
      begin = () => {
        clearTimeout(impatience);
        this.run(organization, queue, job).then(resolve, reject);
      };
    });
    queue.waiting.set(question, { answer, begin });
    return answer;
  }

  private async run<Answer>(organization: string, queue: Queue, job: () => Promise<Answer>): Promise<Answer> {
    queue.running += 1;
    let rest = 0;
    try {
      return await job();
    } catch (error) {
      if (error instanceof Unprocessable) ({ rest } = this.limits);
      throw error;
    } finally {
      if (rest === 0) this.end(organization, queue);
      else setTimeout(() => this.end(organization, queue), rest).unref();
    }
  }

  private end(organization: string, queue: Queue): void {
    queue.running -= 1;
    const [next] = queue.waiting;
    if (next) {
      queue.waiting.delete(next[0]);
      next[1].begin();
    } else if (queue.running === 0) this.queues.delete(organization);
  }
}
