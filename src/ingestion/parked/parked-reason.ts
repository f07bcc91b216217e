/**
 * Returns why an event is parked, for the sender of the event. A database error is shown only to the operator.
 * @param reason why the event could not be parsed; null if the database failed to apply the event
 */
export const parkedReason = (reason: string | null): string =>
  reason ?? 'the event could not be applied; the operator has the details';
