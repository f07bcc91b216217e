import { Injectable } from '@nestjs/common';
import { OrganizationTurns, type TurnLimits } from '../flow/organization-turns.js';

/** Timeout of a statement of a request. */
export const TIME_LIMIT_MS = 2_500;

const TURNS: TurnLimits = { name: 'requests', running: 2, waiting: 32, patience: 1_000, rest: 500 };

/**
 * Limits how many queries of one organization run at the same time on the connections that all requests share (`Pool`).
 * Metrics queries and record queries have their own pools and limits.
 */
@Injectable()
export class RequestTurns extends OrganizationTurns {
  constructor() {
    super(TURNS);
  }
}
