/** An organization to erase. */
export interface OrganizationToErase {
  readonly organization: string;
  /** Whether a key belongs to the organization. The event that names both may have been erased already. */
  readonly isKey: (keyId: string) => boolean;
}

/** The events that one step of an erasure has found. */
export interface ErasedPage {
  /** Number of events by type. */
  readonly events: Readonly<Record<string, number>>;
  /** The positions of the first and the last of these events; undefined if there are none. */
  readonly first: bigint | undefined;
  readonly last: bigint | undefined;
  /** Everything up to this position has been erased. */
  readonly position: bigint;
}

/** Erases the events of an organization in a store that can neither change nor delete single events. */
export interface LogEraser {
  /** The nodes whose files still have the events until an operator scavenges them. */
  readonly nodes: readonly string[];

  /** Returns the keys and webhook endpoints of an organization. */
  names(organization: string): Promise<string[]>;

  /** Yields what the store still has of an organization, including deleted events that have not been scavenged. */
  find(target: OrganizationToErase, onProgress: (position: bigint) => void): Promise<Readonly<Record<string, number>>>;

  /** Erases all events after a position. A repeated call has the same result. */
  erase(target: OrganizationToErase, after: bigint, onPage: (page: ErasedPage) => Promise<void>): Promise<void>;
}
