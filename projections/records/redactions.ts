import type { PoolClient } from 'pg';
import type { EventOf } from '../../src/events/event.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import { isRedacted, redactAsset } from '../../src/events/redacted.js';
import type { Asset } from '../../src/assets/asset.js';
import type { ProjectedEvent } from '../engine/projection.js';
import type { DateAdded } from './recording-clock.js';
import { keyOf, type Row } from './row.js';
import { READ_LISTED, REDACT_BRAND_RECORDS, REDACT_LISTED } from './listed-records.js';

/** A record whose content was redacted, and where and when the log stored that. The row moves to this place. */
export interface Redaction {
  readonly organization: string;
  readonly kind: number;
  readonly id: string;
  readonly assetHash: string;
  readonly position: bigint;
  /** The `ContentRedacted` at the position. */
  readonly movedBy: string;
  /** ms */
  readonly recordedAt: number;
}

const KINDS: Readonly<Record<EventOf<'ContentRedacted'>['data']['kind'], number | undefined>> = {
  threat: LISTED_KIND.threat,
  takedown: LISTED_KIND.takedown,
  assetStatus: LISTED_KIND.verdict,
  dispute: LISTED_KIND.dispute,
  groupedAsset: undefined,
};

/** Returns undefined if the record is not listed. The organization of a verdict is ''. */
export const redactionOf = ({
  event: { data },
  id: movedBy,
  position,
  recordedAt,
}: ProjectedEvent<EventOf<'ContentRedacted'>>): Redaction | undefined => {
  const { organization = '', id, assetHash } = data;
  const kind = KINDS[data.kind];
  return kind === undefined ? undefined : { organization, kind, id, assetHash, position, movedBy, recordedAt };
};

interface Item {
  readonly asset: Asset;
}

interface Listed {
  readonly assetHash: string | undefined;
  readonly item: string;
  readonly position: bigint | number;
}

export const redactItem = (item: string): string => {
  const fields = JSON.parse(item) as Item;
  return JSON.stringify({ ...fields, asset: redactAsset(fields.asset) });
};

/**
 * Whether a redaction changes a listed record: its item is about the redacted asset, or was read from an event that has
 * been rewritten. Both lead to the same row. A copy of a redaction does not change a record that was stored later.
 * @param assetHash the hash of the item's asset, in hex
 */
export const concerns = (redaction: Redaction, { assetHash, item, position }: Listed): boolean =>
  BigInt(position) <= redaction.position &&
  (assetHash === redaction.assetHash || (assetHash === undefined && isRedacted((JSON.parse(item) as Item).asset)));

/** Redacts a row that has not been stored yet. */
export const redactRow = (row: Row, redaction: Redaction): Row => {
  const { view } = row;
  if (view === undefined || !concerns(redaction, { ...row, item: view.item })) return row;
  const { position, movedBy, recordedAt } = redaction;
  return {
    ...row,
    view: { ...view, item: redactItem(view.item) },
    assetHash: undefined,
    position,
    movedBy,
    recordedAt,
    first: row.first ?? row,
  };
};

/** Redacts stored rows, in the order of the redactions. */
export const redactListed = async (
  redactions: readonly Redaction[],
  connection: PoolClient,
  dateOf: DateAdded,
): Promise<void> => {
  if (redactions.length === 0) return;
  const listed = new Map((await READ_LISTED.runEach(connection, redactions)).map((row) => [keyOf(row), row]));
  const changed = new Map<string, Redaction & { readonly item: string; readonly addedAt: number }>();
  for (const redaction of redactions) {
    const key = keyOf(redaction);
    const known = listed.get(key);
    if (!known || !concerns(redaction, { ...known, assetHash: known.assetHash?.replaceAll('-', '') })) continue;
    const item = redactItem(known.item);
    listed.set(key, { ...known, item, assetHash: null, position: Number(redaction.position) });
    changed.set(key, { ...redaction, item, addedAt: dateOf(redaction) });
  }
  await REDACT_LISTED.runEach(connection, [...changed.values()]);
  await REDACT_BRAND_RECORDS.runEach(connection, [...changed.values()]);
};
