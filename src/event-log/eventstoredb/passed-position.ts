/**
 * Determines up to which position a filtered subscription has received everything, from the checkpoints of the server.
 *
 * While a subscription catches up, a checkpoint is the start of the page that the server has just read
 * (`AllSubscriptionFiltered.CatchUp` sends `CurrentPos`). A page starts at the end of the record before it, and has the
 * prepare position 0 (`AllReader` returns `new TFPos(result.RecordPostPosition, 0)`). If the last page is empty because
 * the page before it was exactly full, this is the place where the next event will be written. A subscription that
 * counted this place as passed would skip that event, and so would the server after a restart. Some versions up to 25.0
 * do this (https://github.com/kurrent-io/KurrentDB/issues/4970, mended by its pull request 4975).
 *
 * Therefore such a checkpoint does not count until the server has reported a later one: then the log goes on at its
 * place, and the server has passed whatever is there. The last one before the subscription has caught up never counts.
 * A restart reads at most one search window again.
 */
export class PassedPosition {
  private position: bigint;
  private last: bigint;

  /** @param after the position that the subscription starts after */
  constructor(after: bigint) {
    this.position = after;
    this.last = after;
  }

  /** Records a checkpoint. @returns the position up to which the server has passed every event */
  record({ commit, prepare }: { readonly commit: bigint; readonly prepare: bigint }): bigint {
    // The two positions of an event are equal.
    if (prepare === commit) this.position = commit;
    else if (commit > this.last) this.position = this.last;
    this.last = commit;
    return this.position;
  }
}
