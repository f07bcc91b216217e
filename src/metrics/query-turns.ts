import { Unavailable, Unprocessable } from '../errors.js';
import { TooManyRequests } from '../http/errors/error-response.js';

interface Limits {
  /** Concurrent queries per organization, in this process. */
  readonly running: number;
  /** Distinct queries of one organization that may wait for their turn. */
  readonly waiting: number;
  /**
   * How long a query waits for its turn. With the timeouts of connection and statement, an answer takes at most 5 s. ms
   */
  readonly patience: number;
  /**
   * How long a turn stays taken after a query whose answer would be too large. It has counted as much as any query may,
   * and nothing keeps its sender from asking again at once. ms
   */
  readonly rest: number;
}

const LIMITS: Limits = { running: 2, waiting: 32, patience: 1_000, rest: 500 };
const RETRY_AFTER_SECONDS = 1;

interface Waiting {
  readonly answer: Promise<unknown>;
  readonly begin: () => void;
}

interface Queue {
  running: number;
  /** By question, in order of arrival. */
  readonly waiting: Map<string, Waiting>;
}

/**
 * Limits each organization to a few concurrent queries, so that a busy one waits for itself and the others find
 * connections. Equal queries share one run (single flight), but only one that has not begun: no answer is older than
 * its request, so what a client has seen once is in every later answer.
 */
export class QueryTurns {
  /** Only organizations with queries under way. */
  private readonly queues = new Map<string, Queue>();

  constructor(private readonly limits: Limits = LIMITS) {}

  /**
   * @param question equal if the answers are equal
   * @throws TooManyRequests if too many of the organization's queries are waiting already
   * @throws Unavailable if the turn does not come in time
   */
  take<Answer>(organization: string, question: string, query: () => Promise<Answer>): Promise<Answer> {
    let queue = this.queues.get(organization);
    if (!queue) this.queues.set(organization, (queue = { running: 0, waiting: new Map() }));
    const equal = queue.waiting.get(question);
    if (equal) return equal.answer as Promise<Answer>;
    if (queue.running < this.limits.running) return this.run(organization, queue, query);
    if (queue.waiting.size < this.limits.waiting) return this.wait(organization, queue, question, query);
    throw new TooManyRequests(
      RETRY_AFTER_SECONDS,
      'Too many metrics queries of this organization are waiting; retry after the number of seconds in Retry-After',
    );
  }

  private wait<Answer>(
    organization: string,
    queue: Queue,
    question: string,
    query: () => Promise<Answer>,
  ): Promise<Answer> {
    let begin!: () => void;
    const answer = new Promise<Answer>((resolve, reject) => {
      const impatience = setTimeout(() => {
        queue.waiting.delete(question);
        reject(new Unavailable('Earlier metrics queries of this organization take too long; try again'));
      }, this.limits.patience).unref();
      begin = () => {
        clearTimeout(impatience);
        this.run(organization, queue, query).then(resolve, reject);
      };
    });
    queue.waiting.set(question, { answer, begin });
    return answer;
  }

  private async run<Answer>(organization: string, queue: Queue, query: () => Promise<Answer>): Promise<Answer> {
    queue.running += 1;
    let rest = 0;
    try {
      return await query();
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
