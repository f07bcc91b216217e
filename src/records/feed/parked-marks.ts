import { LISTED_KIND } from '../../events/listed-items.js';

/**
 * Maximum number of checksums that `hasSameParked` combines. Each doubles the probability, once in 2^32, that the retry of
 * a parked event is not noticed. If an organization gains verdicts from more such entries, ids may answer 410 too early.
 */
const MAX_BY_VERDICT = 8;

/** The condition of the index `parked_events_of_entries`. */
const OF_ENTRY = `type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')`;
/** Whether the organization has a verdict from the entry of a parked event `p`. */
const HAS_VERDICT = `(
                select r.id from read.listed_records r
                where r.organization = $1 and r.kind = ${LISTED_KIND.verdict} and r.id = p.change_id
                order by r.organization, r.kind, r.id limit 1
              ) is not null`;
/**
 * Selects the parked events that would change the feed of the organization if they were applied. An event about an
 * entry of the asset status history concerns the organizations that the event names, and the organizations with a
 * verdict from that entry, which the event may remove. The redaction of an entry concerns only the organizations with a
 * verdict from the entry, which `by_verdict` names. If the organizations of an event about an entry are unknown, the event
 * concerns every organization. The `order by` clauses make PostgreSQL use the indexes that begin with the compared
 * columns.
 */
export const parkedWhere = (condition: string): string => `
          (
            select position, event_id, null as by_verdict from read.parked_events
            where organization = $1 and projection = 'records' and not (${OF_ENTRY}) and ${condition}
            order by organization, position
          ) union all (
            select position, event_id,
              case when organizations is not null and not $1 = any(organizations) then change_id end as by_verdict
            from read.parked_events p
            where projection = 'records' and ${OF_ENTRY} and ${condition}
              and (organizations is null or $1 = any(organizations) or ${HAS_VERDICT})
            order by projection, position
          ) union all (
            select position, event_id, change_id as by_verdict from read.parked_events p
            where organization is null and projection = 'records' and type = 'ContentRedacted' and ${condition}
              and ${HAS_VERDICT}
            order by organization, position
          )`;

/** What is known of the parked events up to a position that a reader was given. */
export interface ParkedMarks {
  /** The checksum of the organization's parked events up to the requested position. */
  readonly parkedBefore: number;
  /**
   * For each entry, the checksum of its parked events up to the requested position that concern the organization only
   * since it has a verdict from the entry; at most `MAX_BY_VERDICT`, those with the latest events.
   */
  readonly parkedByVerdict: readonly number[] | null;
}

/** Selects the parked events up to a position, as `passed`, from which `PARKED_MARKS` are made. */
export const passedUpTo = (position: string): string => `
      select uuid_hash(event_id) as hash, position, by_verdict from (${parkedWhere(`position <= ${position}`)}
      ) parked
    `;

/** The fields of `ParkedMarks`, in SQL. */
export const PARKED_MARKS = `'parkedBefore', (select coalesce(bit_xor(hash), 0) from passed),
      'parkedByVerdict', (
        select json_agg(mark) from (
          select bit_xor(hash) as mark from passed where by_verdict is not null
          group by by_verdict order by max(position) desc limit ${MAX_BY_VERDICT}
        ) entries
      )`;

/**
 * Whether no parked event of a position has been applied since the position was given to a reader. Events that did not
 * concern the organization at that time, because it had no verdict from their entry, may be missing from the checksum:
 * the verdict is after the position, and so is what they change.
 * @param page read after the position
 * @param mark the checksum of the position
 */
export const hasSameParked = ({ parkedBefore, parkedByVerdict }: ParkedMarks, mark: number): boolean => {
  // Whether the difference is the XOR of some of the checksums is decided by elimination of their leading bits.
  const leading: number[] = [];
  const reduced = (value: number): number =>
    leading.reduce((rest, checksum) => Math.min(rest, (rest ^ checksum) >>> 0), value >>> 0);
  for (const checksum of parkedByVerdict ?? []) {
    const rest = reduced(checksum);
    if (rest !== 0) leading.push(rest);
  }
  return reduced(mark ^ parkedBefore) === 0;
};
