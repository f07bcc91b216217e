/** The state of one part of the service. */
export class PartHealth {
  /**
   * `degraded`: the part works, but an operator should investigate. `unavailable`: the part, and everything that needs it,
   * is unavailable.
   * @example "ok"
   */
  state!: 'ok' | 'degraded' | 'unavailable';
  /** Details for an operator. If `OPS_PORT` is set, details are shown on that port only. */
  detail?: unknown;
}

export class Liveness {
  /** @example "live" */
  status!: 'live';
}

export class Health {
  /** @example "ready" */
  status!: 'ready' | 'degraded' | 'not-ready' | 'stopping';
  /** The state of each part, by name. */
  parts!: Record<string, PartHealth>;
}
