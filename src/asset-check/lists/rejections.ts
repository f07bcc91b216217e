/** Why an entry of a list is not used. */
export const REJECTIONS = [
  /** Neither a host, an IP address, a page, a profile, IPFS content nor an account. */
  'unreadable',
  'too-long',
  /** A suffix such as `co.uk`, under which a registry sells names. */
  'public-suffix',
  /** On the machine itself or on a private network. */
  'private',
  /** Readable, but nothing that an entry of this format, or of any, can mean. */
  'unsupported',
  /** A line of a hosts file that leads to another host instead of blocking. */
  'redirect',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** The entries of a list that were rejected for one reason. */
export interface RejectedEntries {
  readonly reason: Rejection;
  readonly count: number;
  /** The first ones, as written. */
  readonly examples: readonly string[];
}

/** Says in one line how many entries were rejected for each reason, with the first ones. */
export const describeRejected = ({ reason, count, examples }: RejectedEntries): string =>
  `${count} ${reason} (${examples.map((example) => JSON.stringify(example)).join(', ')}${count > examples.length ? ', …' : ''})`;
