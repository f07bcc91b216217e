import { hash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { Asset } from '../../src/assets/asset.js';
import type { EventOf } from '../../src/events/event.js';
import { type ENTRY_TYPES, isLater, recordOf } from '../../src/events/record.js';
import { isRedacted } from '../../src/events/redacted.js';
import { hashOf } from '../../src/events/stored-key.js';
import { nameArray, type RowOf } from '../../src/postgres/statement.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import type { ProjectedEvent } from '../engine/projection.js';
import type { DateAdded } from './register-clock.js';
import type { Redaction } from './redactions.js';
import { recordId } from '../../src/events/record-id.js';
import { redactView, type Row, type RecordView } from './row.js';
import { DELETE_BRANDS, DELETE_RECORDS, READ_ENTRIES, READ_RECORDS, STORE_ENTRIES } from './register-sql.js';

export type EntryEvent = EventOf<(typeof ENTRY_TYPES)[number]>;

/** Where and when the log stored an event. Instants are in ms. */
interface Place {
  readonly position: number;
  readonly recordedAt: number;
  /** As in `register`. */
  readonly addedAt: number;
}

interface Version {
  readonly version: number;
  readonly eventId: string;
}

/** A state of an entry. `views` has a digest of the view of each organization that the state names. */
interface StateChange extends Place, Version {
  readonly assetHash: string;
  /** A digest of the content. Absent once the content has been redacted, as in the log. */
  readonly content?: string;
  readonly views: Readonly<Record<string, { readonly digest: string; readonly counts: boolean }>>;
}

/** A redaction of an entry. */
interface RedactionChange extends Place {
  readonly movedBy: string;
  readonly assetHash: string;
}

type Change = StateChange | RedactionChange;

/** The verdict of an organization, without its content. */
interface Verdict extends Place, Version {
  /** The redaction at the position. Undefined: the event of the state is at the position. */
  readonly movedBy?: string;
  /** Null if the entry was deleted or no longer concerns the organization. */
  readonly digest: string | null;
  /** As in `StateChange`. */
  readonly content?: string;
  readonly assetHash: string;
  readonly first: Place;
  /** Whether any of the states counts as a blocked threat. */
  readonly hasCounted: boolean;
}

/** The result of changes: the verdicts, and the version of the last state. */
interface Verdicts extends Version {
  readonly rows: Readonly<Record<string, Verdict>>;
}

/** The column `history` of `entries`. */
interface EntryHistory {
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

const KIND = LISTED_KIND.verdict;
const EMPTY: EntryHistory = { before: null, changes: [] };

/** The state of an entry according to one event, prepared before the tables are read. */
export interface EntryState {
  readonly changeId: string;
  readonly position: bigint;
  readonly state: Omit<StateChange, 'addedAt'>;
  /**
   * The view of each organization, which has only the brands of that organization. Brands are sorted, so that their
   * order reveals nothing about other organizations.
   */
  readonly views: ReadonlyMap<string, RecordView>;
}

/** The view of a stored verdict. Undefined: the verdict is not listed. */
const viewOf = ({ createdAt, status, type, content, brands }: RowOf<typeof READ_RECORDS>): RecordView | undefined =>
  createdAt === null
    ? undefined
    : { createdAt, status: status!, asset: { type: type!, content: content! }, brands: brands!, countedAt: createdAt };

const contentOf = (asset: Asset): { readonly content?: string } =>
  isRedacted(asset) ? {} : { content: hash('sha1', asset.content, 'base64url') };

/** A redaction does not change the digest of a view. */
const digestOf = ({ asset, status, brands, createdAt }: RecordView, assetHash: string | undefined): string =>
  hash('sha1', JSON.stringify([asset!.type, assetHash, status, brands, createdAt]), 'base64url');

export const entryStateOf = (projected: ProjectedEvent<EntryEvent>): EntryState => {
  const { event, id: eventId, position, recordedAt } = projected;
  const { id: changeId, version } = recordOf(event);
  const views = new Map<string, RecordView>();
  if (event.type === 'AssetStatusChanged') {
    const { asset, status, createdAt, brandReviews } = event.data;
    for (const { organization, brand } of brandReviews) {
      const brands = [...(views.get(organization)?.brands ?? []), brand].sort();
      views.set(organization, { createdAt, status, asset, brands, countedAt: createdAt });
    }
  }
  const assetHash = hashOf({ event, metadata: projected.metadata });
  const digests = Object.fromEntries(
    [...views].map(([organization, view]) => [
      organization,
      { digest: digestOf(view, assetHash), counts: view.status === 'BLOCKED' },
    ]),
  );
  const content = contentOf(event.data.asset);
  const state = { version, eventId, position: Number(position), recordedAt, assetHash, ...content, views: digests };
  return { changeId, position, state, views };
};

const isState = (change: Change): change is StateChange => 'views' in change;

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
      assetHash,
      first: known?.first ?? place,
      hasCounted: counts || (known?.hasCounted ?? false),
    };
  }
  return { version, eventId, rows: after };
};

const verdictsOf = ({ before, changes }: EntryHistory): Verdicts['rows'] =>
  changes.reduce(next, before ?? { ...NO_STATE, rows: {} }).rows;

const latestOf = ({ before, changes }: EntryHistory): Version => changes.findLast(isState) ?? before ?? NO_STATE;

/** Removes the digests of contents that a later change redacts. */
const withoutRedacted = (changes: readonly Change[]): Change[] => {
  const isRedactedAfter = (state: StateChange): boolean =>
    changes.some((c) => !isState(c) && c.position > state.position && c.assetHash === state.assetHash);
  return changes.map((change) => (isState(change) && isRedactedAfter(change) ? withoutContent(change) : change));
};

/** Adds a change to a history, unless it is known. A state is dropped as soon as a later state is before it in the log. */
const withChange = (history: EntryHistory, change: Change): EntryHistory => {
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

const changeOf = (change: EntryState | Redaction, dateOf: DateAdded): Change => {
  if ('views' in change) {
    const { position, state } = change;
    return { ...state, addedAt: dateOf({ ...state, position }) };
  }
  const { position, movedBy, recordedAt, assetHash } = change;
  return { position: Number(position), movedBy, recordedAt, addedAt: dateOf(change), assetHash };
};

const rowOf = (organization: string, id: string, verdict: Verdict, content: RecordView | undefined): Row => {
  const { version, eventId, position, movedBy, recordedAt, addedAt, assetHash, digest, first, hasCounted } = verdict;
  const view = digest === null ? undefined : content!;
  const listed = view && movedBy !== undefined ? redactView(view) : view;
  return {
    organization,
    kind: KIND,
    id,
    version,
    eventId,
    movedBy,
    recordedAt,
    addedAt,
    position: BigInt(position),
    view: listed,
    assetHash: listed && movedBy === undefined && !isRedacted(listed.asset!) ? assetHash : undefined,
    first: { ...first, position: BigInt(first.position) },
    hasCounted,
  };
};

const isSame = (a: Verdict | undefined, b: Verdict | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  (['position', 'eventId', 'movedBy', 'digest', 'hasCounted'] as const).every((name) => a[name] === b[name]) &&
  a.first.position === b.first.position;

const groupBy = <Item>(items: readonly Item[], keyOf: (item: Item) => string): Map<string, Item[]> => {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
};

/**
 * Stores what is known of entries, and determines which verdicts change.
 *
 * The verdicts of an entry are a function of its events and their positions: those of a reader that is sent the states and
 * redactions in the order of the log, and ignores a state that is not later than the states before it. An organization is
 * listed from the first state that names it. A verdict has the place of the state since which the view of the organization
 * is unchanged, so that the organization does not learn of changes that concern only other organizations, and the place of
 * the last redaction after that of its asset. The entry keeps the changes, because a retried event or the copy of a
 * rewritten stream is applied later than in the order of the log.
 * @param changed states and redactions of entries, in any order
 * @returns the rows to store
 */
export const foldVerdicts = async (
  changed: readonly (EntryState | Redaction)[],
  connection: PoolClient,
  dateOf: DateAdded,
): Promise<readonly Row[]> => {
  if (changed.length === 0) return [];
  const byEntry = groupBy(changed, (change) => ('views' in change ? change.changeId : change.id));
  const entries = await READ_ENTRIES.run(connection, { changeIds: [...byEntry.keys()] });
  const known = new Map(entries.map(({ changeId, history }) => [changeId, history as EntryHistory]));
  const owned = [...known].flatMap(([id, history]) =>
    Object.keys(verdictsOf(history)).map((organization) => ({ record: recordId({ organization, kind: KIND, id }) })),
  );
  const listed = new Map((await READ_RECORDS.runEach(connection, owned)).map((row) => [row.record, row]));
  const rows: Row[] = [];
  const replaced: { readonly record: string }[] = [];
  const stored: (Version & { readonly changeId: string; organizations: string; history: string })[] = [];
  for (const [changeId, changes] of byEntry) {
    const before = known.get(changeId) ?? EMPTY;
    const history = changes.reduce((reached, change) => withChange(reached, changeOf(change, dateOf)), before);
    if (history === before) continue;
    const after = verdictsOf(history);
    const organizations = nameArray(Object.keys(after).sort());
    const { version, eventId } = latestOf(history);
    stored.push({ version, eventId, changeId, organizations, history: JSON.stringify(history) });
    const states = changes.filter((change) => 'views' in change);
    const verdictsBefore = verdictsOf(before);
    for (const [organization, verdict] of Object.entries(verdictsBefore)) {
      const now = after[organization];
      // A later row only replaces an earlier one, and keeps the earlier of their dates.
      const isReplacing = now && isLater(now, verdict) && now.first.position === verdict.first.position;
      if (!isSame(now, verdict) && !(isReplacing && now.hasCounted === verdict.hasCounted))
        replaced.push({ record: recordId({ organization, kind: KIND, id: changeId }) });
    }
    for (const [organization, verdict] of Object.entries(after)) {
      if (isSame(verdict, verdictsBefore[organization])) continue;
      const ofSameView = states.filter(
        ({ state: { views, content } }) =>
          views[organization]?.digest === verdict.digest &&
          (verdict.movedBy !== undefined || content === verdict.content),
      );
      const newest = ofSameView.find(({ state }) => state.eventId === verdict.eventId) ?? ofSameView[0];
      const own = listed.get(recordId({ organization, kind: KIND, id: changeId }));
      const view = newest?.views.get(organization) ?? (own && viewOf(own));
      rows.push(rowOf(organization, changeId, verdict, view));
    }
  }
  await STORE_ENTRIES.runEach(connection, stored);
  await DELETE_RECORDS.runEach(connection, replaced);
  await DELETE_BRANDS.runEach(connection, replaced);
  return rows;
};
