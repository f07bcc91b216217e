import { isLater } from '../../src/events/record.js';

/** Where and when the log stored an event. Instants are in ms. */
export interface Place {
  readonly position: number;
  readonly recordedAt: number;
  /** As in `register`. */
  readonly addedAt: number;
}

export interface Version {
  readonly version: number;
  readonly eventId: string;
}

/** A state of an entry. `views` has a digest of the view of each organization that the state names. */
export interface StateChange extends Place, Version {
  /** Absent if the state names no organization, so that the state is the same once its organizations have been erased. */
  readonly assetHash?: string;
  /** A digest of the content. Absent once the content has been redacted, as in the log. */
  readonly content?: string;
  readonly views: Readonly<Record<string, { readonly digest: string; readonly counts: boolean }>>;
}

/** A redaction of an entry. */
interface RedactionChange extends Place {
  readonly movedBy: string;
  readonly assetHash: string;
}

export type Change = StateChange | RedactionChange;

/** The verdict of an organization, without its content. */
export interface Verdict extends Place, Version {
  /** The redaction at the position. Undefined: the event of the state is at the position. */
  readonly movedBy?: string;
  /** Null if the entry was deleted or no longer concerns the organization. */
  readonly digest: string | null;
  /** As in `StateChange`. */
  readonly content?: string;
  /** Absent without a digest. */
  readonly assetHash?: string;
  readonly first: Place;
  /** Whether any of the states counts as a blocked threat. */
  readonly hasCounted: boolean;
}

/** The result of changes: the verdicts, and the version of the last state. */
interface Verdicts extends Version {
  readonly rows: Readonly<Record<string, Verdict>>;
}

/** What the verdicts of an entry are computed from. */
export interface EntryHistory {
  /** The changes before `changes`, of which only their result is kept. */
  readonly before: Verdicts | null;
  /** In the order of the log. */
  readonly changes: readonly Change[];
}

/**
 * Maximum number of changes that are kept of an entry, which limits the size of its row. If an entry has more, a retried
 * event that is older than these changes, or than the last redaction then, may leave another place than a rebuild does.
 */
const MAX_CHANGES = 64;

/** The version of an entry of which only redactions are known. Every state is later. */
const NO_STATE: Version = { version: Number.MIN_SAFE_INTEGER, eventId: '00000000-0000-0000-0000-000000000000' };

export const EMPTY: EntryHistory = { before: null, changes: [] };

export const isState = (change: Change): change is StateChange => 'views' in change;

const withoutContent = <Known extends StateChange | Verdict>(known: Known): Known => ({ ...known, content: undefined });

/** The verdicts after a change. */
const next = ({ rows, ...latest }: Verdicts, change: Change): Verdicts => {
  const { position, recordedAt, addedAt, assetHash } = change;
  const place = { position, recordedAt, addedAt };
  if (!isState(change)) {
    const isConcerned = (verdict: Verdict): boolean =>
      verdict.digest !== null && verdict.position < position && verdict.assetHash === assetHash;
    // The states may have differed only in their contents, so the row has the last of them.
    const redacted = Object.entries(rows).map(([organization, verdict]) => [
      organization,
      isConcerned(verdict) ? { ...withoutContent(verdict), ...place, ...latest, movedBy: change.movedBy } : verdict,
    ]);
    return { ...latest, rows: Object.fromEntries(redacted) as Verdicts['rows'] };
  }
  const { version, eventId, views } = change;
  const after: Record<string, Verdict> = { ...rows };
  for (const organization of new Set([...Object.keys(rows), ...Object.keys(views)])) {
    const { digest = null, counts = false } = views[organization] ?? {};
    const content = digest === null ? undefined : change.content;
    const known = rows[organization];
    // A redacted verdict whose content is sent again is listed again.
    if (known?.digest === digest && (digest === null || (known.movedBy === undefined && known.content === content)))
      continue;
    after[organization] = {
      ...place,
      version,
      eventId,
      digest,
      ...(content !== undefined && { content }),
      ...(digest !== null && { assetHash: assetHash! }),
      first: known?.first ?? place,
      hasCounted: counts || (known?.hasCounted ?? false),
    };
  }
  return { version, eventId, rows: after };
};

export const verdictsOf = ({ before, changes }: EntryHistory): Verdicts['rows'] =>
  changes.reduce(next, before ?? { ...NO_STATE, rows: {} }).rows;

export const latestOf = ({ before, changes }: EntryHistory): Version => changes.findLast(isState) ?? before ?? NO_STATE;

/** Removes the digests of contents that a later change redacts. */
const withoutRedacted = (changes: readonly Change[]): Change[] => {
  const isRedactedAfter = (state: StateChange): boolean =>
    changes.some((c) => !isState(c) && c.position > state.position && c.assetHash === state.assetHash);
  return changes.map((change) => (isState(change) && isRedactedAfter(change) ? withoutContent(change) : change));
};

/** Adds a change to a history, unless it is known. A state is dropped as soon as a later state is before it in the log. */
export const withChange = (history: EntryHistory, change: Change): EntryHistory => {
  let { before, changes } = history;
  if (isState(change)) {
    const states = changes.filter(isState);
    const isKnown =
      (before && !isLater(change, before)) ||
      states.some((state) => state.position <= change.position && !isLater(change, state));
    if (isKnown) return history;
    changes = changes.filter((other) => !isState(other) || other.position < change.position || isLater(other, change));
  } else if (changes.some((other) => !isState(other) && other.movedBy === change.movedBy)) return history;
  changes = withoutRedacted([...changes, change].sort((a, b) => a.position - b.position));
  // What the rows before the changes say of redacted contents is not what a rebuild finds in the log.
  while (changes.length > MAX_CHANGES || (before && changes.some((one) => !isState(one)))) {
    const [first, ...rest] = changes as [Change, ...Change[]];
    if (before || isState(first)) before = next(before ?? { ...NO_STATE, rows: {} }, first);
    changes = rest;
  }
  return { before, changes };
};

/**
 * Returns the only state of an entry whose contents are known: the entry's row and its verdicts in the register then hold
 * everything, and no history is stored.
 */
export const onlyStateOf = ({ before, changes }: EntryHistory): StateChange | undefined => {
  const [change, ...more] = changes;
  if (before !== null || change === undefined || more.length > 0 || !isState(change)) return undefined;
  return change.content !== undefined || Object.keys(change.views).length === 0 ? change : undefined;
};
