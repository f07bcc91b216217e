import { Injectable } from '@nestjs/common';
import { OrganizationTurns, type TurnLimits } from '../flow/organization-turns.js';

/** What a statement of a request has, in its turn. ms */
export const TIME_LIMIT_MS = 2_500;

const TURNS: TurnLimits = { name: 'requests', running: 2, waiting: 32, patience: 1_000, rest: 500 };

/**
 * The turns of every query on the connections that all requests share (`Pool`), so that no organization holds them all.
 * Metrics have a pool and turns of their own; the commands of an organization run one batch after another.
 */
@Injectable()
export class RequestTurns extends OrganizationTurns {
  constructor() {
    super(TURNS);
  }
}
