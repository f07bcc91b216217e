/**
 * The hosts that no list may block as a whole, for features other than the asset check, which reads these hosts and sets
 * `guardOf`.
 */
export class GuardedHosts {
  /** Returns the id of the guard that contains the host; undefined if no guard does. */
  guardOf: (host: string) => string | undefined = () => undefined;
}
