/** The guard of a host. */
export interface GuardOfHost {
  /** The id of the guard. */
  readonly guard: string;
  /** Whether the guard contains a host below the host, rather than the host itself. */
  readonly isAbove: boolean;
}

/**
 * The hosts that no list may block as a whole, for features other than the asset check, which reads these hosts and sets
 * `guardOf`.
 */
export class GuardedHosts {
  /** Returns the guard that contains the host or one below it; undefined if no guard does. */
  guardOf: (host: string) => GuardOfHost | undefined = () => undefined;
}
