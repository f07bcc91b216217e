import { OUTCOME } from '../read-models/takedown-outcome.js';
import { MAX_TYPES, TOO_MANY } from './count-sql.js';
import type { Range } from './range.js';

/** As shares of those that were completed; the last one is the longest. Each is a time that one of them took. */
const SHARES = 'array[0.5, 0.9, 0.99, 1]';

/**
 * Counts takedowns by outcome and says how long they took, in one statement and so of one snapshot.
 *
 * $1 organization, $2 brand, $3 and $4 the range (ms).
 * @param owned which takedowns are meant
 * @param dated by which instant an outcome is in the range
 */
const statistics = (owned: string, dated: string): string => `
    select
      (select as_of from read.checkpoints where projection = 'takedowns') as "asOf",
      (select json_agg(json_build_array(outcome, n)) from (
        select outcome, count(*) as n from read.takedowns
        where ${owned} and outcome is not null and ${dated} between $3::bigint and $4::bigint
        group by outcome
      ) outcomes) as outcomes,
      (select case
          when count(*) > ${MAX_TYPES} + 1 then '"${TOO_MANY}"' else json_agg(json_build_array(type, n, times))
        end
      from (
        select type, count(*) as n, percentile_disc(${SHARES}) within group (order by took) as times
        from read.takedowns
        where ${owned} and outcome = ${OUTCOME.completed} and updated_at between $3::bigint and $4::bigint
        group by grouping sets ((type), ()) limit ${MAX_TYPES} + 2
      ) types) as times`;

// $2 is '' here, and has to be named: PostgreSQL asks what type it is.
const OF_ORGANIZATION = statistics(`organization = $1 and $2 = ''`, 'created_at');
const OF_BRAND = statistics(`organization = $1 and brand = $2 and brand <> ''`, 'updated_at');

/** Those of `SHARES`, ms; null where there is none. */
export type Times = readonly [median: number, p90: number, p99: number, longest: number] | null;

/** One row. */
export interface CountedTakedowns {
  /** Everything answered at the door before this instant (ms) is counted. */
  readonly asOf: number | null;
  /** Null: none. */
  readonly outcomes: readonly (readonly [outcome: number, n: number])[] | null;
  /** Of each type, and of all of them: null. */
  readonly times: readonly (readonly [type: string | null, n: number, times: Times])[] | typeof TOO_MANY;
}

/** Without a name: planned for these values, it reads types and times in the order of their index. */
export const takedownStatistics = (organization: string, brand: string | undefined, { from, to }: Range) => ({
  text: brand === undefined ? OF_ORGANIZATION : OF_BRAND,
  values: [organization, brand ?? '', from, to],
});
