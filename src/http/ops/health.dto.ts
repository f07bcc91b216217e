/** The state of one part of the service. */
export class PartHealth {
  /**
   * `degraded`: it works, but an operator should look. `away`: it is unavailable, and so is whatever needs it.
   * @example "ok"
   */
  state!: 'ok' | 'degraded' | 'away';
  /** Details for an operator; with `OPS_PORT` set, given on that port only. */
  detail?: unknown;
}

export class Liveness {
  /** @example "live" */
  status!: 'live';
}

export class Health {
  /** @example "ready" */
  status!: 'ready' | 'degraded' | 'not-ready' | 'stopping';
  /** Each part by name. */
  parts!: Record<string, PartHealth>;
}
