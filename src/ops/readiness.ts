import { setTimeout as sleep } from 'node:timers/promises';
import { singleFlight } from '../flow/shared-work.js';
import { Logger } from '@nestjs/common';
import type { WriteLog } from '../runtime/log-line.js';

const PROBE_TIMEOUT_MS = 2_000;

/** The state of one part of the service. */
export interface PartState {
  /**
   * `degraded`: the part works, but an operator should investigate. `unavailable`: the part, and everything that needs it,
   * is unavailable.
   */
  readonly state: 'ok' | 'degraded' | 'unavailable';
  /** Details for an operator. */
  readonly detail?: unknown;
}

// These messages are public, so they contain no addresses and no messages of database drivers.
const FAILED = 'No response; see the log';
const TIMED_OUT = `No response within ${PROBE_TIMEOUT_MS} ms`;

const logToNest: WriteLog = (sentence, level) => {
  const logger = new Logger('health');
  if (level === 'warn') logger.warn(sentence);
  else logger.log(sentence);
};

export interface Report {
  readonly status: 'ready' | 'degraded' | 'not-ready' | 'stopping';
  readonly parts: Readonly<Record<string, PartState>>;
}

type Probe = () => PartState | Promise<PartState>;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Decides whether this process should receive requests. Each part that can fail registers a probe. */
export class Readiness {
  /** Set once the process has been asked to stop. */
  stopping = false;
  private readonly probes = new Map<string, Probe>();
  /** Parts whose failure has been logged and that have not answered since then. */
  private readonly failing = new Set<string>();

  constructor(private readonly writeLog: WriteLog = logToNest) {}

  /** @param probe if it throws, the part is `unavailable`; the error is logged, but not part of the report */
  register(part: string, probe: Probe): void {
    this.probes.set(part, probe);
  }

  /** Probes every part, for at most 2 s. Concurrent calls share one run. */
  readonly report = singleFlight((): Promise<Report> => this.probeAll());

  private async probeAll(): Promise<Report> {
    const states = await Promise.all(
      [...this.probes].map(async ([part, probe]) => [part, await this.stateOf(part, probe)] as const),
    );
    const has = (wanted: PartState['state']): boolean => states.some(([, { state }]) => state === wanted);
    const status = has('unavailable') ? 'not-ready' : has('degraded') ? 'degraded' : 'ready';
    return { status: this.stopping ? 'stopping' : status, parts: Object.fromEntries(states) };
  }

  private async stateOf(part: string, probe: Probe): Promise<PartState> {
    const timer = new AbortController();
    const unavailable = { state: 'unavailable', detail: TIMED_OUT } as const;
    const timeout = sleep(PROBE_TIMEOUT_MS, unavailable, { signal: timer.signal });
    try {
      const state = await Promise.race([probe(), timeout]);
      if (state !== unavailable && this.failing.delete(part)) this.writeLog(`${part} answers again`);
      return state;
    } catch (error) {
      if (!this.failing.has(part)) this.writeLog(`${part} does not answer: ${messageOf(error)}`, 'warn');
      this.failing.add(part);
      return { state: 'unavailable', detail: FAILED };
    } finally {
      timeout.catch(() => undefined);
      timer.abort();
    }
  }
}
