import type { Pool } from 'pg';
import { versionOf } from '../projections/engine/projection.js';
import { metrics } from '../projections/metrics/projection.js';
import { MS_PER_DAY } from '../src/events/instant.js';
import { MEASURE } from '../src/events/facts.js';

export const ORGANIZATIONS = 100;
export const DAY_COUNT = 1_000;
/** The day of the first fact, in days since 1970: 2024-01-01. */
export const FIRST_DAY = 19_723;
/** The largest organization has about a fifth of all facts (Zipf distribution). */
export const LARGEST_ORGANIZATION = 'org-1';
export const TYPES = (
  'URL PAGE ADDRESS TWITTER TELEGRAM DISCORD DISCORD_USER EMAIL FACEBOOK INSTAGRAM ' +
  'LINKEDIN YOUTUBE REDDIT TIKTOK THREADS MEDIUM GITHUB BLUESKY FARCASTER WHATSAPP ' +
  'IPFS OPENSEA GOOGLE_APP_STORE APPLE_APP_STORE CHROME_WEB_STORE MASTODON SIGNAL SNAPCHAT ' +
  'TWITCH VK '
)
  .trim()
  .split(' ');
/** The number of threats of 100 facts. */
export const THREATS_OF_100 = 70;
/** The measures of 100 facts. */
const MEASURES = [
  ...Array<number>(THREATS_OF_100).fill(MEASURE.threat),
  ...Array<number>(12).fill(MEASURE.report),
  ...Array<number>(8).fill(MEASURE.threatWatchlisted),
  ...Array<number>(6).fill(MEASURE.takedownFiled),
  ...Array<number>(4).fill(MEASURE.takedownCompleted),
];

/**
 * Returns the bounds that map a uniform random number from 0 to 1 to one of `n` values with a Zipf distribution
 * (s = 1).
 */
export const zipfBounds = (n: number): number[] => {
  const weights = Array.from({ length: n }, (_, i) => 1 / (i + 1));
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  // The last bound is omitted, because it is always 1.
  return weights.slice(0, -1).map((weight) => (sum += weight) / whole);
};

/** The table of the comparison variant. It has the same facts with one covering index and no rollup. */
export const PLAIN_FACTS = 'bench.facts';

/** Derives the counts by day and type from the facts. Two statements. */
export const COUNT_FACTS = `
  insert into read.days (organization, brand, measure, day, n)
    select organization, brand, measure, (at / ${MS_PER_DAY})::int, count(*) from read.facts
    group by 1, 2, 3, 4 order by 1, 2, 3, 4;
  insert into read.type_days (organization, brand, day, type, n)
    select organization, brand, (at / ${MS_PER_DAY})::int, type, count(*) from read.facts
    where measure = ${MEASURE.threat} group by 1, 2, 3, 4 order by 1, 2, 3, 4`;

/** SQL for when the log stored fact `n`, in ms: one of 20 facts some hours to 60 days late, the others within a minute. */
const RECORDED_AT = `at + case
           when n % 20 = 0 then (power(abs(hashint8(n)::bigint) % 1000 / 1000.0, 3) * 60 * ${MS_PER_DAY})::bigint
           else abs(hashint8(n)::bigint) % 60000
         end`;

/** SQL for the class of a delay of `days`, as `lagOf` returns it. */
const lagInSql = (days: string): string => `length(ltrim((${days})::bit(32)::text, '0'))`;

/**
 * Fills the table of the comparison variant and the tables of the metrics. The metrics tables get the rows that the
 * projection would write, but with a few large statements. The facts are spread evenly over the days, in chronological
 * order. Every run gets the same facts. Positions of the log are instants in ms.
 */
export const fillFacts = async (pool: Pool, facts: number, organizations = ORGANIZATIONS): Promise<void> => {
  const connection = await pool.connect();
  try {
    await connection.query(`
      set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '128MB';
      alter table read.facts drop constraint facts_pkey;
      create schema bench`);
    await connection.query('select setseed(0.42)');
    await connection.query(
      `insert into read.facts (organization, brand, at, measure, type, record, since, lag)
       select 'org-' || organization, '', at, measure, case when measure = ${MEASURE.threat} then type else '' end,
         'record-' || n, recorded_at, ${lagInSql(`recorded_at / ${MS_PER_DAY} - at / ${MS_PER_DAY}`)}
       from (
         select drawn.*, ${RECORDED_AT} as recorded_at from (
         select n,
           1 + width_bucket(random(), $2::float8[]) as organization,
           $4::bigint + (n * ($5::bigint / $1::float8))::bigint as at,
           ($6::smallint[])[1 + floor(random() * 100)::int] as measure,
           ($7::text[])[1 + width_bucket(random(), $3::float8[])] as type
         from generate_series(0, $1::bigint - 1) n
         offset 0
         ) drawn
       ) stored`,
      [
        facts,
        zipfBounds(organizations),
        zipfBounds(TYPES.length),
        FIRST_DAY * MS_PER_DAY,
        DAY_COUNT * MS_PER_DAY,
        MEASURES,
        TYPES,
      ],
    );
    await connection.query(`
      alter table read.facts add primary key (organization, brand, at, measure, type, record);
      ${COUNT_FACTS};
      create table ${PLAIN_FACTS} as select organization, brand, at, measure, type from read.facts order by at;
      create index on ${PLAIN_FACTS} (organization, brand, at) include (measure, type);
      reset synchronous_commit; reset maintenance_work_mem; reset work_mem`);
    for (const table of ['read.facts', 'read.days', 'read.type_days', PLAIN_FACTS])
      await connection.query(`vacuum analyze ${table}`);
  } finally {
    connection.release();
  }
};

/**
 * Fills the tables of changed threats. In addition to the threats among the facts, there are a fiftieth as many that no
 * longer count. The checkpoint says that this version of the projection wrote the rows.
 */
export const fillCountedThreats = async (pool: Pool): Promise<void> => {
  await pool.query(
    `insert into read.changed_threats (organization, id, counted_at, type)
     select organization, 'former ' || record, at, type
     from read.facts where measure = ${MEASURE.threat} and hashtext(record) % 50 = 0 order by organization, record`,
  );
  await pool.query(
    `insert into read.changed_threat_days (organization, day, type, counted, false_positives)
     select organization, (counted_at / ${MS_PER_DAY})::int, type, count(*), count(*)
     from read.changed_threats group by 1, 2, 3 order by 1, 2, 3`,
  );
  await pool.query(
    `insert into read.checkpoints (projection, log_id, position, as_of, version) values ('metrics', 'bench', 1, 1, $1)`,
    [versionOf(metrics)],
  );
  for (const table of ['changed_threats', 'changed_threat_days']) await pool.query(`vacuum analyze read.${table}`);
};
