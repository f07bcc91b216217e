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
  readonly question: string | undefined;
  readonly answer: Promise<unknown>;
  readonly begin: () => void;
}

interface Queue {
  running: number;
  /** In order of arrival. An array, because a `Map` would keep garbage alive (`bag.ts`). */
  readonly waiting: Waiting[];
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
    if (!queue) this.queues.set(organization, (queue = { running: 0, waiting: [] }));
    const equal = question === undefined ? undefined : queue.waiting.find((one) => one.question === question);
    if (equal) return equal.answer as Promise<Answer>;
    if (queue.running < this.limits.running) return this.run(organization, queue, job);
    if (queue.waiting.length < this.limits.waiting) return this.wait(organization, queue, question, job);
    throw new TooManyRequests(
      RETRY_AFTER_SECONDS,
      `Too many ${this.limits.name} of this organization are waiting; retry after the number of seconds in Retry-After`,
    );
  }

  private wait<Answer>(
    organization: string,
    queue: Queue,
    question: string | undefined,
    job: () => Promise<Answer>,
  ): Promise<Answer> {
    let waiting!: Waiting;
    let begin!: () => void;
    const answer = new Promise<Answer>((resolve, reject) => {
      const impatience = setTimeout(() => {
        queue.waiting.splice(queue.waiting.indexOf(waiting), 1);
        reject(new Unavailable(`Earlier ${this.limits.name} of this organization are still running; try again`));
      }, this.limits.patience).unref();
      begin = () => {
        clearTimeout(impatience);
        this.run(organization, queue, job).then(resolve, reject);
      };
    });
    waiting = { question, answer, begin };
    queue.waiting.push(waiting);
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
    const next = queue.waiting.shift();
    if (next) next.begin();
    else if (queue.running === 0) this.queues.delete(organization);
  }
}
