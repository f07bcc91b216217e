import { EARLIEST, LATEST } from '../instant.js';

/** The longest list the endpoint accepts: each brand of a report is a fact to count. */
export const MAX_LIST = 50;
/**
 * The longest list read from the log. Earlier versions accepted it, and what was accepted still counts; the projector
 * can afford it because its transactions are bounded by facts.
 */
const MAX_STORED_LIST = 1_000;

/** Collects all problems of one event's data while it is parsed, and holds the limits that apply. */
export class Reading {
  readonly issues: string[] = [];

  readonly earliest: number;
  readonly latest: number;
  readonly maxList: number;

  /**
   * @param latest rejects later instants, instants before 1970, and lists longer than the endpoint accepts; absent for
   *   stored events, so that a rebuild depends neither on the clock nor on newer limits
   */
  constructor(latest?: number) {
    this.earliest = latest === undefined ? EARLIEST : 0;
    this.latest = latest ?? LATEST;
    this.maxList = latest === undefined ? MAX_STORED_LIST : MAX_LIST;
  }

  refuse(path: string, rule: string): void {
    this.issues.push(`data.${path} ${rule}`);
  }
}
