import type { PoolClient } from 'pg';
import type { EventOf } from '../../src/events/event.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import { REDACTED } from '../../src/events/redacted.js';
import type { ProjectedEvent } from '../engine/projection.js';
import type { DateAdded } from './register-clock.js';
import { recordId } from '../../src/events/record-id.js';
import { redactView, type Row } from './row.js';
import { READ_RECORDS, REDACT_BRANDS, REDACT_RECORDS } from './register-sql.js';

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

interface Listed {
  readonly assetHash: string | undefined;
  readonly content: string | null | undefined;
  readonly position: bigint | number;
}

/**
 * Whether a redaction changes a listed record: the record is about the redacted asset, or was read from an event that has
 * been rewritten. Both lead to the same row. A copy of a redaction does not change a record that was stored later.
 * @param listed `assetHash` in hex
 */
const concerns = (redaction: Redaction, { assetHash, content, position }: Listed): boolean =>
  BigInt(position) <= redaction.position &&
  (assetHash === redaction.assetHash || (assetHash === undefined && content === REDACTED));

/** Redacts a row that has not been stored yet. */
export const redactRow = (row: Row, redaction: Redaction): Row => {
  const { view } = row;
  if (view === undefined || !concerns(redaction, { ...row, content: view.asset?.content })) return row;
  const { position, movedBy, recordedAt } = redaction;
  return {
    ...row,
    view: redactView(view),
    assetHash: undefined,
    position,
    movedBy,
    recordedAt,
    first: row.first ?? row,
  };
};

/** Redacts stored rows, in the order of the redactions. */
export const redactStored = async (
  redactions: readonly Redaction[],
  connection: PoolClient,
  dateOf: DateAdded,
): Promise<void> => {
  if (redactions.length === 0) return;
  const placed = redactions.map((redaction) => ({ ...redaction, record: recordId(redaction) }));
  const stored = await READ_RECORDS.run(connection, { record: [...new Set(placed.map(({ record }) => record))] });
  const listed = new Map<string, Listed>();
  for (const { record, createdAt, content, assetHash, position } of stored)
    if (createdAt !== null) listed.set(record, { content, assetHash: assetHash?.replaceAll('-', ''), position });
  const changed = new Map<string, (typeof placed)[number] & { readonly addedAt: number }>();
  for (const redaction of placed) {
    const known = listed.get(redaction.record);
    if (!known || !concerns(redaction, known)) continue;
    listed.set(redaction.record, { content: REDACTED, assetHash: undefined, position: redaction.position });
    changed.set(redaction.record, { ...redaction, addedAt: dateOf(redaction) });
  }
  const rows = [...changed.values()].map((redaction) => ({ ...redaction, content: REDACTED, item: null }));
  await REDACT_RECORDS.runEach(connection, rows);
  await REDACT_BRANDS.runEach(connection, rows);
};
