import { MEASURE, type Fact } from '../../events/facts.js';
import { json, type RowOf, statement } from '../../postgres/statement.js';
import type { Range } from '../../http/parameters.js';
import { COUNTED_RANGE, countedColumns, MOMENT, MOMENT_COLUMNS, suffixed } from '../count-sql.js';
import {
  corrections,
  displacedFacts,
  formerFacts,
  type KnownCounts,
  knownValues,
  type Moment,
  OWNED,
  PAST,
  SINCE,
} from '../past-sql.js';

/**
 * SQL for the facts of a range that count at one of two positions and not at the other: `n` is 1 if at `:knownNow`, -1
 * if at `:known`.
 */
const CHANGED_FACTS = `
        select measure, type, at, record, sum(n)::int as n from (
          select f.measure, f.type, f.at, f.record, 1 as n ${displacedFacts(
            'w.lag > 0 and f.since > :known and f.since <= :knownNow',
          )}
          union all
          select f.measure, f.type, f.at, f.record, 1 from read.facts f
          where ${OWNED} and f.at between :dayFrom and :rangeTo and f.since > :known and f.since <= :knownNow
          union all
          select f.measure, f.type, f.at, f.record, 1 ${formerFacts('', ':knownNow')}
          where f.since > :known
          union all
          select f.measure, f.type, f.at, f.record, -1 ${formerFacts()}
          where f.until <= :knownNow
        ) differences group by measure, type, at, record having sum(n) <> 0`;

/** SQL for the owner and the kind of the record of a fact, as in the key of `read.records`. */
const RECORD_OF_FACT = `
        select case when f.measure = ${MEASURE.threat} and :brand <> '' then '' else :organization end as owner,
          case
            when f.measure = ${MEASURE.report} then 'report'
            when f.measure in (${MEASURE.takedownFiled}, ${MEASURE.takedownCompleted}) then 'takedown'
            when :brand = '' then 'threat'
            else 'assetStatus'
          end as kind`;

/** SQL for the states of a record, as `s`, in rows of `columns`. */
const statesOf = (columns: string, condition: string): string =>
  ['records', 'former_states'].map(
    (table) => `
            select ${columns} from read.${table} s
            where s.organization = r.owner and s.kind = r.kind and s.id = r.record and ${condition}`,
  ).join(`
            union all`);

/** SQL for the condition that a state concerns the organization, which need not be the owner of the record. */
const CONCERNS = `(s.organization <> '' or :organization = any(s.named)
              or strpos(s.counts::text, '[' || to_json(:organization) || ',') > 0)`;

/** SQL for the position of the first state of a record that concerns the organization. */
const FIRST_POSITION = `
          select min(position) as position from (${statesOf('s.position', CONCERNS)}
          ) states`;

/** SQL for the position of the first event that was stored after the end of the range; null if there is none. */
const AFTER_RANGE = '(select position from read.log_clock where recorded_at > :rangeTo order by recorded_at limit 1)';

/** The numbers of facts that count at one of two moments only. A late record was first stored after the range and `then`. */
type ChangeCounts = readonly (readonly [
  measure: number,
  type: string,
  isLate: boolean,
  added: number,
  removed: number,
])[];

/** Counts a range as known at two moments, and what changed between them, in one statement and from one snapshot. */
export const RESTATEMENT = statement(
  'metrics-restatement',
  {
    ...COUNTED_RANGE,
    ...PAST,
    ...suffixed({ ...COUNTED_RANGE, ...PAST }, 'Now'),
  },
  {
    ...MOMENT_COLUMNS,
    then: json<KnownCounts>(),
    now: json<KnownCounts>(),
    changes: json<ChangeCounts>(),
  },
  `
    select ${MOMENT},
      (select row_to_json(c) from (select ${corrections()} as corrections,${countedColumns()}) c) as then,
      (select row_to_json(c) from (select ${corrections('Now')} as corrections,${countedColumns('Now')}) c) as now,
      (
        select coalesce(json_agg(json_build_array(measure, type, late, added, removed)), '[]') from (
          select r.measure, r.type, late.late, count(*) filter (where r.n > 0) as added,
            count(*) filter (where r.n < 0) as removed
          from (
            select f.*, k.* from (${CHANGED_FACTS}
            ) f cross join lateral (${RECORD_OF_FACT}) k
          ) r
          cross join lateral (${FIRST_POSITION}) first
          cross join lateral (
            select first.position > :known and coalesce(first.position >= ${AFTER_RANGE}, false) as late
          ) late
          group by r.measure, r.type, late.late
        ) counts
      ) as changes`,
);

export const restatementValues = (
  organization: string,
  brand: string,
  range: Range,
  then: Moment,
  now: Moment,
): Parameters<typeof RESTATEMENT.run>[1] => ({
  ...knownValues(organization, brand, range, then),
  ...suffixed(knownValues(organization, brand, range, now), 'Now'),
});

/** The state of a record at a moment. */
export interface StateThen {
  /** The facts of the organization. */
  readonly facts: readonly Fact[];
  readonly isDeleted: boolean;
  /** Whether the state is about the organization: an entry of the asset status history may have named only others. */
  readonly concerns: boolean;
}

/** SQL for whether a state is of a deleted record: the version of a deletion is odd. */
const IS_DELETED = 's.version % 2 = 1';

/**
 * SQL for what of a state is the organization's business: its facts, and whether the record is deleted; null if the state
 * does not concern it. An entry of the asset status history also changes for the organizations that it names besides.
 */
const SEEN = `case when ${CONCERNS} then jsonb_build_object('isDeleted', ${IS_DELETED}, 'facts', (
              select coalesce(jsonb_agg(c order by c), '[]') from jsonb_array_elements(s.counts::jsonb) c
              where c->>0 = :organization)) end`;

/** SQL for the states of a record up to a position, in rows of what the organization sees of them. */
const seenStates = (position: string): string =>
  statesOf(`s.position, ${IS_DELETED} as is_deleted, ${SEEN} as seen`, `s.position <= ${position}`);

/** SQL for the `StateThen` of a row of `seenStates`. */
const STATE = `json_build_object('facts', coalesce(seen->'facts', '[]'), 'isDeleted', is_deleted, 'concerns', seen is not null)`;

/**
 * Lists the records with such facts, the one that changed last first: the later state is the first of those that the
 * organization cannot tell from the one at the later moment.
 */
export const RESTATED_RECORDS = statement(
  'metrics-restated-records',
  { organization: 'text', brand: 'text', ...SINCE, knownNow: 'bigint', before: 'bigint', limit: 'bigint' },
  {
    ...MOMENT_COLUMNS,
    records: json<
      readonly {
        readonly kind: 'report' | 'threat' | 'takedown' | 'assetStatus';
        readonly id: string;
        readonly position: number;
        /** When the log stored the event that made the record count as in the later state, in ms. */
        readonly changedAt: number;
        readonly isNew: boolean;
        readonly isLate: boolean;
        readonly then: StateThen | null;
        readonly now: StateThen;
      }[]
    >(),
  },
  `
    select ${MOMENT}, (
      select coalesce(json_agg(listed order by listed.position desc), '[]') from (
        select r.kind, r.record as id, present.position,
          (select recorded_at from read.log_clock c where c.position <= present.position order by c.position desc limit 1)
            as "changedAt",
          first.position > :known as "isNew",
          first.position > :known and coalesce(first.position >= ${AFTER_RANGE}, false) as "isLate",
          past.state as then, present.state as now
        from (
          select distinct k.owner, k.kind, f.record from (${CHANGED_FACTS}
          ) f cross join lateral (${RECORD_OF_FACT}) k
        ) r
        cross join lateral (
          select position, ${STATE} as state from (
            select *, seen is distinct from lag(seen) over (order by position) as changes from (${seenStates(':knownNow')}
            ) states
          ) states where changes order by position desc limit 1
        ) present
        cross join lateral (${FIRST_POSITION}) first
        left join lateral (
          select ${STATE} as state from (${seenStates(':known')}
          ) states order by position desc limit 1
        ) past on true
        where present.position < :before
        order by present.position desc limit :limit
      ) listed
    ) as records`,
);

export type RestatedRow = RowOf<typeof RESTATED_RECORDS>['records'][number];

/**
 * The assets of the first records in lists, until their contents have `:maxBytes`. Deleted records and reports have none.
 * PostgreSQL reads no further content, because the length of a content is stored with its row. `number` counts the
 * records from 1, and `total` is how many of them have an asset.
 */
export const ASSETS_OF_RECORDS = statement(
  'metrics-assets-of-records',
  { records: 'uuid[]', maxBytes: 'bigint' },
  { number: 'bigint', type: 'text', content: 'text', total: 'bigint' },
  `
    select number, type, content, total from (
      select n as number, type, content, octet_length(content) as size, count(*) over () as total,
        sum(octet_length(content)) over (order by n) as bytes
      from unnest(:records) with ordinality w (id, n) join read.register r on r.record = w.id
      where content is not null
    ) sized
    where bytes - size < :maxBytes
    order by number`,
);
