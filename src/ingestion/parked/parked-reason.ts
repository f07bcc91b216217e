/**
 * Why an event is parked, for its sender. What the database said of an event that could not be applied is for the operator.
 * @param reason of an event that cannot be read
 */
export const parkedReason = (reason: string | null): string =>
  reason ?? 'it could not be applied; the operator has the details';
