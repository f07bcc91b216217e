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
import {
  type Change,
  EMPTY,
  type EntryHistory,
  latestOf,
  onlyStateOf,
  type StateChange,
  type Verdict,
  verdictsOf,
  withChange,
} from './entry-history.js';
import type { DateAdded } from './register-clock.js';
import type { Redaction } from './redactions.js';
import { recordId } from '../../src/events/record-id.js';
import { redactView, type Row, type RecordView } from './row.js';
import { DELETE_BRANDS, DELETE_RECORDS, READ_ENTRIES, READ_RECORDS, STORE_ENTRIES } from './register-sql.js';

export type EntryEvent = EventOf<(typeof ENTRY_TYPES)[number]>;

const KIND = LISTED_KIND.verdict;

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
const viewOf = ({
  createdAt,
  status,
  type,
  content,
  brands,
  expiresAt,
}: RowOf<typeof READ_RECORDS>): RecordView | undefined =>
  createdAt === null
    ? undefined
    : {
        createdAt,
        status: status!,
        asset: { type: type!, content: content! },
        brands: brands!,
        countedAt: createdAt,
        expiresAt: expiresAt ?? undefined,
      };

const contentOf = (asset: Asset): { readonly content?: string } =>
  isRedacted(asset) ? {} : { content: hash('sha1', asset.content, 'base64url') };

/** A redaction does not change the digest of a view. */
const digestOf = (
  { asset, status, brands, createdAt, expiresAt }: RecordView,
  assetHash: string | undefined,
): string => {
  const view = [asset!.type, assetHash, status, brands, createdAt];
  return hash('sha1', JSON.stringify(expiresAt === undefined ? view : [...view, expiresAt]), 'base64url');
};

const viewsOf = (views: Iterable<readonly [string, RecordView]>, assetHash: string | undefined): StateChange['views'] =>
  Object.fromEntries(
    [...views].map(([organization, view]) => [
      organization,
      { digest: digestOf(view, assetHash), counts: view.status === 'BLOCKED' },
    ]),
  );

export const entryStateOf = (projected: ProjectedEvent<EntryEvent>): EntryState => {
  const { event, id: eventId, position, recordedAt } = projected;
  const { id: changeId, version } = recordOf(event);
  const views = new Map<string, RecordView>();
  if (event.type === 'AssetStatusChanged') {
    const { asset, status, createdAt, brandReviews, expiresAt } = event.data;
    for (const { organization, brand } of brandReviews) {
      const brands = [...(views.get(organization)?.brands ?? []), brand].sort();
      views.set(organization, { createdAt, status, asset, brands, countedAt: createdAt, expiresAt });
    }
  }
  const assetHash = hashOf({ event, metadata: projected.metadata });
  const state = { version, eventId, position: Number(position), recordedAt };
  if (views.size === 0) return { changeId, position, state: { ...state, views: {} }, views };
  const asset = { assetHash, ...contentOf(event.data.asset) };
  return { changeId, position, state: { ...state, ...asset, views: viewsOf(views, assetHash) }, views };
};

type StoredEntry = RowOf<typeof READ_ENTRIES>;
type StoredRecord = RowOf<typeof READ_RECORDS>;

const recordOfVerdict = (organization: string, id: string): string => recordId({ organization, kind: KIND, id });

/** Returns the history of a stored entry, from the entry and its verdicts in the register (see `onlyStateOf`). */
const historyOf = (entry: StoredEntry, listed: ReadonlyMap<string, StoredRecord>): EntryHistory => {
  const { changeId, version, eventId, organizations, history } = entry;
  if (history !== null) return history as EntryHistory;
  const verdicts = organizations.map((organization) => listed.get(recordOfVerdict(organization, changeId))!);
  const place = { position: entry.position!, recordedAt: entry.recordedAt!, addedAt: entry.addedAt! };
  const state = { version, eventId, ...place };
  const [first] = verdicts;
  if (first === undefined) return { before: null, changes: [{ ...state, views: {} }] };
  const assetHash = first.assetHash!.replaceAll('-', '');
  const { content } = contentOf({ type: first.type!, content: first.content! });
  const views = verdicts.map((row, index) => [organizations[index]!, viewOf(row)!] as const);
  return { before: null, changes: [{ ...state, assetHash, content: content!, views: viewsOf(views, assetHash) }] };
};

/** The columns of an entry that depend on its history. */
const entryColumnsOf = (history: EntryHistory) => {
  const { version, eventId } = latestOf(history);
  const only = onlyStateOf(history);
  return {
    version,
    eventId,
    position: only?.position,
    recordedAt: only?.recordedAt,
    addedAt: only?.addedAt,
    history: only === undefined ? JSON.stringify(history) : undefined,
  };
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
  const record = entries.flatMap(({ changeId, organizations }) =>
    organizations.map((organization) => recordOfVerdict(organization, changeId)),
  );
  const listed = new Map((await READ_RECORDS.run(connection, { record })).map((row) => [row.record, row]));
  const known = new Map(entries.map((entry) => [entry.changeId, historyOf(entry, listed)]));
  const rows: Row[] = [];
  const replaced: { readonly record: string }[] = [];
  const stored: (ReturnType<typeof entryColumnsOf> & { readonly changeId: string; organizations: string })[] = [];
  for (const [changeId, changes] of byEntry) {
    const before = known.get(changeId) ?? EMPTY;
    const history = changes.reduce((reached, change) => withChange(reached, changeOf(change, dateOf)), before);
    if (history === before) continue;
    const after = verdictsOf(history);
    const organizations = nameArray(Object.keys(after).sort());
    stored.push({ changeId, organizations, ...entryColumnsOf(history) });
    const states = changes.filter((change) => 'views' in change);
    const verdictsBefore = verdictsOf(before);
    for (const [organization, verdict] of Object.entries(verdictsBefore)) {
      const now = after[organization];
      // A later row only replaces an earlier one, and keeps the earlier of their dates.
      const isReplacing = now && isLater(now, verdict) && now.first.position === verdict.first.position;
      if (!isSame(now, verdict) && !(isReplacing && now.hasCounted === verdict.hasCounted))
        replaced.push({ record: recordOfVerdict(organization, changeId) });
    }
    for (const [organization, verdict] of Object.entries(after)) {
      if (isSame(verdict, verdictsBefore[organization])) continue;
      const ofSameView = states.filter(
        ({ state: { views, content } }) =>
          views[organization]?.digest === verdict.digest &&
          (verdict.movedBy !== undefined || content === verdict.content),
      );
      const newest = ofSameView.find(({ state }) => state.eventId === verdict.eventId) ?? ofSameView[0];
      const own = listed.get(recordOfVerdict(organization, changeId));
      const view = newest?.views.get(organization) ?? (own && viewOf(own));
      rows.push(rowOf(organization, changeId, verdict, view));
    }
  }
  await STORE_ENTRIES.runEach(connection, stored);
  await DELETE_RECORDS.runEach(connection, replaced);
  await DELETE_BRANDS.runEach(connection, replaced);
  return rows;
};
