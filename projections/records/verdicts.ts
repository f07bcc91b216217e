import type { PoolClient } from 'pg';
import type { EventOf } from '../../src/events/event.js';
import { formatInstant } from '../../src/events/instant.js';
import { type ENTRY_TYPES, isLater, recordOf } from '../../src/events/record.js';
import { isRedacted } from '../../src/events/redacted.js';
import { hashOf } from '../../src/events/stored-key.js';
import { nameArray, type RowOf } from '../../src/postgres/statement.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import type { ProjectedEvent } from '../engine/projection.js';
import type { DateAdded } from './recording-clock.js';
import { concerns, redactItem, redactListed, redactRow, type Redaction } from './redactions.js';
import { itemJson, keyOf, objectIdOf, type Row, type RecordView, withFirst } from './row.js';
import { READ_REVIEWED_ENTRIES, READ_VERDICTS, STORE_REVIEWED_ENTRIES } from './listed-records.js';

export type EntryEvent = EventOf<(typeof ENTRY_TYPES)[number]>;

type Entry = RowOf<typeof READ_REVIEWED_ENTRIES>;

/** The verdict of an organization as it is listed. */
interface Verdict {
  /** Undefined if the entry was deleted or no longer concerns the organization. */
  readonly item: string | undefined;
  readonly assetHash: string | undefined;
  readonly position: bigint | number;
}

const NOT_LISTED: Verdict = { item: undefined, assetHash: undefined, position: 0 };

/** The state of an entry according to one event, prepared before the tables are read. */
export interface EntryState {
  readonly changeId: string;
  readonly version: number;
  readonly eventId: string;
  readonly position: bigint;
  /** When the log stored the event, in ms. */
  readonly recordedAt: number;
  /** Undefined if the content was redacted. */
  readonly assetHash: string | undefined;
  /**
   * The view of each organization, which has only the brands of that organization. Brands are sorted, so that their
   * order reveals nothing about other organizations.
   */
  readonly views: ReadonlyMap<string, RecordView>;
}

export const entryStateOf = (projected: ProjectedEvent<EntryEvent>): EntryState => {
  const { event, id: eventId, position, recordedAt } = projected;
  const { id: changeId, version } = recordOf(event);
  const views = new Map<string, RecordView>();
  if (event.type === 'AssetStatusChanged') {
    const { asset, status, createdAt, brandReviews } = event.data;
    for (const { organization, brand } of brandReviews) {
      const brands = [...(views.get(organization)?.brands ?? []), brand].sort();
      const item = itemJson<'verdict'>({ id: changeId, asset, status, brands, createdAt: formatInstant(createdAt) });
      views.set(organization, { item, createdAt, status, asset, brands, countedAt: createdAt });
    }
  }
  const assetHash = isRedacted(event.data.asset) ? undefined : hashOf({ event, metadata: projected.metadata });
  return { changeId, version, eventId, position, recordedAt, assetHash, views };
};

/**
 * Stores the newest states of entries, and determines which verdicts change. If the view of an organization is
 * unchanged, the verdict keeps its position in the feed, so that the organization does not learn of changes that
 * concern only other organizations. Events are applied one by one in the order of the log, so that the result does not
 * depend on how the log is split into batches.
 * @param states the states and redactions of entries, in the order of the log
 * @returns the rows to store
 */
export const foldVerdicts = async (
  states: readonly (EntryState | Redaction)[],
  connection: PoolClient,
  dateOf: DateAdded,
): Promise<readonly Row[]> => {
  if (states.length === 0) return [];
  const changeIds = [...new Set(states.map((state) => ('changeId' in state ? state.changeId : state.id)))];
  const known = await READ_REVIEWED_ENTRIES.run(connection, { changeIds });
  const entries = new Map(known.map((entry) => [entry.changeId, entry]));
  const owned = known.flatMap(({ changeId, organizations }) =>
    organizations.map((organization) => ({ organization, changeId })),
  );
  const verdicts = await READ_VERDICTS.runEach(connection, owned);
  const kind = LISTED_KIND.verdict;
  const listed = new Map<string, Verdict>(
    verdicts.map(({ item, assetHash, position, ...verdict }) => [
      keyOf({ ...verdict, kind }),
      { item: item ?? undefined, assetHash: assetHash?.replaceAll('-', ''), position },
    ]),
  );
  const redactions: Redaction[] = [];
  const changed = new Map<string, Row>();
  const changedEntries = new Map<string, Entry>();
  const redact = (redaction: Redaction): void => {
    for (const organization of entries.get(redaction.id)?.organizations ?? []) {
      const key = keyOf({ organization, kind, id: redaction.id });
      const row = changed.get(key);
      const { item, ...verdict } = listed.get(key) ?? NOT_LISTED;
      if (row) changed.set(key, redactRow(row, redaction));
      else redactions.push({ ...redaction, organization });
      if (item === undefined || !concerns(redaction, { ...verdict, item })) continue;
      listed.set(key, { item: redactItem(item), assetHash: undefined, position: redaction.position });
    }
  };
  for (const state of states) {
    if (!('changeId' in state)) {
      redact(state);
      continue;
    }
    const { changeId, version, eventId, position, recordedAt, assetHash: hash, views } = state;
    const entry = entries.get(changeId);
    if (entry && !isLater({ version, eventId }, entry)) continue;
    const organizations = [...new Set([...(entry?.organizations ?? []), ...views.keys()])].sort();
    for (const organization of organizations) {
      const key = keyOf({ organization, kind, id: changeId });
      const view = views.get(organization);
      if (listed.has(key) && listed.get(key)!.item === view?.item) continue;
      listed.set(key, { item: view?.item, assetHash: hash, position });
      const base = { organization, kind, id: changeId, version, eventId, position, recordedAt };
      const row = {
        ...base,
        view,
        assetHash: view && hash,
        objectId: view && objectIdOf(base, view.status === 'BLOCKED'),
      };
      changed.set(key, withFirst(row, changed.get(key)));
    }
    entries.set(changeId, { changeId, version, eventId, organizations });
    changedEntries.set(changeId, entries.get(changeId)!);
  }
  const stored = [...changedEntries.values()].map((entry) => ({
    ...entry,
    organizations: nameArray(entry.organizations),
  }));
  await STORE_REVIEWED_ENTRIES.runEach(connection, stored);
  await redactListed(redactions, connection, dateOf);
  return [...changed.values()];
};
