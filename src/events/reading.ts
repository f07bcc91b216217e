import { EARLIEST, LATEST } from './instant.js';

/** The longest list that the endpoint takes: each brand of a report is a fact to count. */
export const MAX_LIST = 50;
/**
 * The longest list read from the log. Earlier versions took this many, and what was accepted still counts; the
 * projector bounds its transactions by facts, so it can afford them.
 */
const MAX_STORED_LIST = 1_000;

/** One event's data being read: the limits that apply to it, and what is wrong with it, so that all is seen at once. */
export class Reading {
  readonly issues: string[] = [];

  readonly earliest: number;
  readonly latest: number;
  readonly maxList: number;

  /**
   * @param latest instants after this one are refused, those before 1970, and lists longer than the endpoint takes;
   * absent for what is in the log already: a rebuild depends neither on the clock nor on a limit that came later
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
