import type { PoolClient } from 'pg';
import { assetHash } from '../../src/assets/asset-key.js';
import type { EventOf } from '../../src/events/event.js';
import { formatInstant } from '../../src/events/instant.js';
import { type ENTRY_TYPES, isLater, recordOf } from '../../src/events/record.js';
import { nameArray } from '../../src/postgres/columns.js';
import type { RowOf } from '../../src/postgres/statement.js';
import { LISTED_KIND } from '../../src/events/kinds.js';
import type { ProjectedEvent } from '../engine/projection.js';
import { itemJson, keyOf, type Row, type Shown } from './row.js';
import { READ_ENTRIES, READ_VERDICTS, STORE_ENTRIES } from './statements.js';

export type EntryEvent = EventOf<(typeof ENTRY_TYPES)[number]>;

type Entry = RowOf<typeof READ_ENTRIES>;

/** An entry's state, worked out before the tables are read. */
export interface EntryState {
  readonly changeId: string;
  readonly version: number;
  readonly eventId: string;
  readonly position: bigint;
  /** ms */
  readonly storedAt: number;
  readonly hash: string;
  /** What each organization sees of it: its own brands, sorted, so that their order says nothing about the others. */
  readonly shown: ReadonlyMap<string, Shown>;
}

export const entryStateOf = ({ event, id: eventId, position, recordedAt }: ProjectedEvent<EntryEvent>): EntryState => {
  const { id: changeId, version } = recordOf(event);
  const shown = new Map<string, Shown>();
  if (event.type === 'AssetStatusChanged') {
    const { asset, status, createdAt, brandReviews } = event.data;
    for (const { organization, brand } of brandReviews) {
      const brands = [...(shown.get(organization)?.brands ?? []), brand].sort();
      const item = itemJson<'verdict'>({ id: changeId, asset, status, brands, createdAt: formatInstant(createdAt) });
      shown.set(organization, { item, createdAt, status, asset, brands, brandAt: createdAt });
    }
  }
  return { changeId, version, eventId, position, storedAt: recordedAt, hash: assetHash(event.data.asset), shown };
};

/**
 * Stores the entries' newest states, and works out whose verdicts that changes. A verdict that an organization sees
 * unchanged stays where it stands in the feed: that something else about the entry changed is not its business. One
 * event at a time, in the log's order, so that this does not depend on how the log is cut into batches.
 * @returns the rows to store
 */
export const foldVerdicts = async (states: readonly EntryState[], connection: PoolClient): Promise<readonly Row[]> => {
  if (states.length === 0) return [];
  const changeIds = [...new Set(states.map(({ changeId }) => changeId))];
  const known = await READ_ENTRIES.run(connection, { changeIds });
  const entries = new Map(known.map((entry) => [entry.changeId, entry]));
  const owned = known.flatMap(({ changeId, organizations }) =>
    organizations.map((organization) => ({ organization, changeId })),
  );
  const verdicts = await READ_VERDICTS.runEach(connection, owned);
  const kind = LISTED_KIND.verdict;
  const seen = new Map(verdicts.map((verdict) => [keyOf({ ...verdict, kind }), verdict.item ?? undefined]));
  const changed = new Map<string, Row>();
  const newer = new Map<string, Entry>();
  for (const { changeId, version, eventId, position, storedAt, hash, shown: all } of states) {
    const entry = entries.get(changeId);
    if (entry && !isLater({ version, eventId }, entry)) continue;
    const organizations = [...new Set([...(entry?.organizations ?? []), ...all.keys()])].sort();
    for (const organization of organizations) {
      const key = keyOf({ organization, kind, id: changeId });
      const shown = all.get(organization);
      if (seen.has(key) && seen.get(key) === shown?.item) continue;
      seen.set(key, shown?.item);
      const place = { organization, kind, id: changeId, version, eventId, position, storedAt };
      changed.set(key, { ...place, shown, hash: shown && hash });
    }
    entries.set(changeId, { changeId, version, eventId, organizations });
    newer.set(changeId, entries.get(changeId)!);
  }
  const stored = [...newer.values()].map((entry) => ({ ...entry, organizations: nameArray(entry.organizations) }));
  await STORE_ENTRIES.runEach(connection, stored);
  return [...changed.values()];
};
