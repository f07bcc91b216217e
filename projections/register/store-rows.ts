import type { PoolClient } from 'pg';
import { isFilteredBy, kindOf, LISTED_KIND } from '../../src/events/listed-items.js';
import { isLater } from '../../src/events/record.js';
import { nameArray } from '../../src/postgres/statement.js';
import type { DateAdded } from './register-clock.js';
import { DELETE_BRANDS, ENTER_RECORDS, INSERT_BRANDS, UPDATE_FIRST, UPDATE_RECORDS } from './register-sql.js';
import { recordId } from '../../src/events/record-id.js';
import type { Row } from './row.js';

/** Returns a row with its columns, as the statements take them. Each has the same shape, which makes reading it fast. */
const placedOf = (row: Row, dateOf: DateAdded) => {
  const { organization, kind, id, version, eventId, position, recordedAt, view, first } = row;
  return {
    row,
    record: recordId(row),
    organization,
    kind,
    id,
    version,
    eventId,
    position,
    movedBy: row.movedBy,
    recordedAt,
    addedAt: row.addedAt ?? dateOf(row),
    // A dispute is put together from several events, so its row does not know the first of them.
    firstAddedAt: kind === LISTED_KIND.dispute ? null : (first?.addedAt ?? dateOf(first ?? row)),
    hasCounted: row.hasCounted,
    createdAt: view?.createdAt,
    status: view?.status,
    type: view?.asset?.type,
    assetHash: row.assetHash,
    content: view?.asset?.content,
    brands: view && isFilteredBy(kindOf(kind), 'brand') ? nameArray(view.brands) : undefined,
    item: view?.item,
    expiresAt: view?.expiresAt,
  };
};

type Placed = ReturnType<typeof placedOf>;

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/**
 * Stores rows, each of another record, except rows of which the register has a newer state. When a record was first
 * stored, and whether it ever counted, does not depend on the order of its states. No other process can change the
 * register meanwhile, because the transaction holds the lock of the checkpoint.
 */
export const storeRows = async (rows: readonly Row[], connection: PoolClient, dateOf: DateAdded): Promise<void> => {
  const placed = rows.map((row) => placedOf(row, dateOf));
  const known = await ENTER_RECORDS.runEach(connection, placed);
  const replacing: Placed[] = [];
  const outdated = new Set<Placed>();
  const changed: Pick<Placed, 'record' | 'firstAddedAt' | 'hasCounted'>[] = [];
  for (const { ordinal, ...stored } of known) {
    const one = placed[ordinal - 1]!;
    const firstAddedAt = earlier(stored.firstAddedAt, one.firstAddedAt);
    const hasCounted = stored.hasCounted || one.row.hasCounted;
    if (isLater(one.row, stored)) replacing.push({ ...one, firstAddedAt, hasCounted });
    else {
      outdated.add(one);
      if (firstAddedAt !== stored.firstAddedAt || hasCounted !== stored.hasCounted)
        changed.push({ record: one.record, firstAddedAt, hasCounted });
    }
  }
  await UPDATE_RECORDS.runEach(connection, replacing);
  await UPDATE_FIRST.runEach(connection, changed);
  await DELETE_BRANDS.runEach(
    connection,
    replacing.filter(({ row }) => isFilteredBy(kindOf(row.kind), 'brand')),
  );
  const ofBrands = placed.flatMap((one) => {
    const { record, row } = one;
    const { organization, kind, id, view, assetHash } = row;
    if (outdated.has(one) || view === undefined) return [];
    const { countedAt: at, status, asset } = view;
    return view.brands.map((brand) => ({
      record,
      organization,
      kind,
      id,
      brand,
      at,
      status,
      type: asset?.type,
      assetHash,
    }));
  });
  await INSERT_BRANDS.runEach(connection, ofBrands);
};
