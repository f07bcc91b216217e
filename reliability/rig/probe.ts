import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, ask, type Question } from './ask.js';

/** A request that was sent, and what became of it. */
export interface Probed {
  readonly what: string;
  /** When it was sent, ms. */
  readonly at: number;
  readonly ms: number;
  /** 0: no answer. */
  readonly status: number;
  readonly answer?: Answer;
  readonly error?: string;
}

export interface Probe extends Question {
  readonly what: string;
  readonly url: () => string;
  /** What the n-th asks besides, where it must not be the same twice. */
  readonly each?: (n: number) => Question;
  readonly everyMs: number;
}

/** Sends requests at a steady rate, whether the ones before were answered or not. */
export class Prober {
  readonly results: Probed[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>[];

  constructor(
    probes: readonly Probe[],
    private readonly agent = new Agent({ keepAlive: true }),
  ) {
    this.running = probes.map((probe) => this.run(probe));
  }

  async stop(): Promise<readonly Probed[]> {
    this.stopping.abort();
    await Promise.all(this.running);
    this.agent.destroy();
    return this.results;
  }

  private async run({ what, url, each, everyMs, ...question }: Probe): Promise<void> {
    const pending = new Set<Promise<void>>();
    for (let n = 0; !this.stopping.signal.aborted; n += 1) {
      const at = Date.now();
      const asked = ask(url(), { ...question, ...each?.(n), agent: this.agent }).then(
        (answer) => void this.results.push({ what, at, ms: answer.ms, status: answer.status, answer }),
        (error: Error) => void this.results.push({ what, at, ms: Date.now() - at, status: 0, error: error.message }),
      );
      pending.add(asked);
      void asked.finally(() => pending.delete(asked));
      await sleep(everyMs, undefined, { signal: this.stopping.signal }).catch(() => {});
    }
    await Promise.all(pending);
  }
}

/** @returns the requests sent from one instant to another, ms */
export const between = (results: readonly Probed[], from: number, to: number): Probed[] =>
  results.filter(({ at }) => at >= from && at < to);
