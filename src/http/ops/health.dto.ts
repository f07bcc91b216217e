import { ApiProperty } from '@nestjs/swagger';

/** The state of one part of the service. */
export class PartHealth {
  /**
   * `degraded`: the part works, but an operator should investigate. `unavailable`: the part does not work, and
   * neither does anything that depends on the part.
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
  @ApiProperty({
    example: {
      'asset-statuses': { state: 'ok', detail: { known: 5990, bytes: 5990, ageMs: 42 } },
      lists: { state: 'ok', detail: { metamask: { entries: 5990, failing: false } } },
      keys: { state: 'ok', detail: { known: 12 } },
      log: { state: 'ok', detail: { head: '1042' } },
      readModels: {
        state: 'ok',
        detail: {
          projections: [{ projection: 'metrics', position: '1042', lag: 0, unit: 'events', lagSeconds: 0, parked: 0 }],
        },
      },
    },
  })
  parts!: Record<string, PartHealth>;
}
