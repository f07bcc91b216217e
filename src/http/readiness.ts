import { setTimeout as sleep } from 'node:timers/promises';

const LONGEST_PROBE_MS = 2_000;

/** How one part of the service does. */
export interface PartState {
  /** `degraded`: it answers, but an operator should look. `away`: nothing that needs it can be answered. */
  readonly state: 'ok' | 'degraded' | 'away';
  /** What a person wants to know of it. */
  readonly detail?: unknown;
}

export interface Report {
  readonly status: 'ready' | 'degraded' | 'not-ready' | 'stopping';
  readonly parts: Readonly<Record<string, PartState>>;
}

type Probe = () => PartState | Promise<PartState>;

const away = (detail: string): PartState => ({ state: 'away', detail });

/** Whether this process should be sent requests. Each part that can be away or ill registers itself. */
export class Readiness {
  /** Set once, when the process has been asked to stop. */
  stopping = false;
  private readonly probes = new Map<string, Probe>();
  private running: Promise<Report> | undefined;

  /** @param probe what it throws is the part's state: away */
  register(part: string, probe: Probe): void {
    this.probes.set(part, probe);
  }

  /** Asks every part, each for two seconds at most. However many ask at once, the parts are asked once. */
  report(): Promise<Report> {
    this.running ??= this.ask().finally(() => (this.running = undefined));
    return this.running;
  }

  private async ask(): Promise<Report> {
    const states = await Promise.all(
      [...this.probes].map(async ([part, probe]) => [part, await this.stateOf(probe)] as const),
    );
    const has = (wanted: PartState['state']): boolean => states.some(([, { state }]) => state === wanted);
    const status = has('away') ? 'not-ready' : has('degraded') ? 'degraded' : 'ready';
    return { status: this.stopping ? 'stopping' : status, parts: Object.fromEntries(states) };
  }

  private async stateOf(probe: Probe): Promise<PartState> {
    const timer = new AbortController();
    const late = sleep(LONGEST_PROBE_MS, away(`No answer within ${LONGEST_PROBE_MS} ms`), { signal: timer.signal });
    try {
      return await Promise.race([probe(), late]);
    } catch (error) {
      return away(error instanceof Error ? error.message : String(error));
    } finally {
      late.catch(() => undefined);
      timer.abort();
    }
  }
}
