import { EARLIEST, LATEST } from '../instant.js';

/** Maximum length of a list that the endpoint accepts. Each brand of a report is counted separately. */
export const MAX_LIST = 50;
/**
 * Maximum length of a list in stored events, because earlier versions accepted longer lists. The projector limits its
 * transactions by the number of facts.
 */
const MAX_STORED_LIST = 1_000;

/** Collects the validation errors in the data of one event, and has the limits that apply. */
export class Validation {
  readonly issues: string[] = [];

  readonly earliest: number;
  readonly latest: number;
  readonly maxList: number;

  /**
   * @param latest the latest accepted instant in ms. If given, instants before 1970 and lists of more than `MAX_LIST`
   *   items are rejected too. Absent for stored events, so that a rebuild depends neither on the clock nor on newer
   *   limits
   */
  constructor(latest?: number) {
    this.earliest = latest === undefined ? EARLIEST : 0;
    this.latest = latest ?? LATEST;
    this.maxList = latest === undefined ? MAX_STORED_LIST : MAX_LIST;
  }

  reject(path: string, rule: string): void {
    this.issues.push(`data.${path} ${rule}`);
  }
}
