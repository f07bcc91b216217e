/** How one part of the service does. */
export class PartHealth {
  /**
   * `degraded`: it answers, but an operator should look. `away`: nothing that needs it can be answered.
   * @example "ok"
   */
  state!: 'ok' | 'degraded' | 'away';
  /** What an operator wants to know of it. Where operators have a listener of their own (`OPS_PORT`), given there alone. */
  detail?: unknown;
}

export class Liveness {
  /** @example "live" */
  status!: 'live';
}

export class Health {
  /** @example "ready" */
  status!: 'ready' | 'degraded' | 'not-ready' | 'stopping';
  /** Each part by its name. */
  parts!: Record<string, PartHealth>;
}
