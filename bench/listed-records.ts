import type { Pool } from 'pg';
import { createPostgresLog } from '../src/event-log/postgres/log.js';
import { LISTED_KIND } from '../src/events/listed-items.js';
import { createPool } from '../src/postgres/pool.js';
import type { Database } from './database.js';
import { DAY_COUNT, FIRST_DAY, LARGEST_ORGANIZATION } from './facts.js';
import { formatAmount, type Bench } from './goal.js';
import { MS_PER_DAY } from '../src/events/instant.js';

export interface Listed {
  readonly database: Database;
  readonly records: number;
}

/** Elements in a full page of the feed. The log contains only the last event of each page. */
export const PAGE = 1_000;
const FIRST = FIRST_DAY * MS_PER_DAY;

/** Returns when the n-th of `records` records was created, in ms since 1970. */
export const createdAt = (n: number, records: number): number =>
  FIRST + Math.floor((n * DAY_COUNT * MS_PER_DAY) / records);

/** Creates the listed threats of one organization, once per run. */
export const listedRecords = (bench: Bench): Promise<Listed> =>
  bench.shared('listed records', async () => {
    const from = performance.now();
    const records = bench.sizes.facts;
    const database = await bench.database();
    bench.say(`Fills a database with ${formatAmount(records)} listed records of one organization`);
    const log = await createPostgresLog(createPool(database.url, () => {}));
    const logId = await log.id();
    await log.close();
    await fill(database.pool, records, logId);
    bench.say(`Filled in ${((performance.now() - from) / 1000).toFixed(1)} s`);
    return { database, records };
  });

/** Inserts the records with one statement, without indexes, and creates the indexes afterwards. */
const fill = async (pool: Pool, records: number, logId: string): Promise<void> => {
  const connection = await pool.connect();
  try {
    await connection.query(`set synchronous_commit = off; set maintenance_work_mem = '512MB'`);
    const { rows: indexes } = await connection.query<{ name: string; definition: string }>(
      `select indexname as name, indexdef as definition from pg_indexes
       where schemaname = 'read' and tablename = 'register' and indexname not like '%_pkey'`,
    );
    for (const { name } of indexes) await connection.query(`drop index read.${name}`);
    const eventId = `md5('event ' || n)::uuid`;
    await connection.query(
      `insert into read.register
         (record, organization, kind, id, version, event_id, position, stored_at, added_at, first_added_at, has_counted,
         created_at, status, type, asset, content)
       select md5('record ' || n)::uuid, $1, ${LISTED_KIND.threat}, 'threat-' || n, 2 * at, ${eventId}, n, at, at, at,
         status = 'BLOCKED', at, status, type, md5((n % 100000)::text)::uuid, content
       from (
         select n, at, (array['BLOCKED', 'APPROVED', 'PENDING', 'WATCHLISTED'])[1 + n % 4] as status,
           (array['URL', 'PAGE', 'TWITTER'])[1 + n % 3] as type,
          (array['site-' || n || '.example', 'https://site-' || n || '.example/login', 'https://x.com/site_' || n])[1 + n % 3]
            as content
         from (select n, $2::bigint + n * $3::bigint / $4::bigint as at from generate_series(1, $4::bigint) n) numbered
       ) drawn`,
      [LARGEST_ORGANIZATION, FIRST, DAY_COUNT * MS_PER_DAY, records],
    );
    for (const { definition } of indexes) await connection.query(definition);
    await connection.query(
      `insert into log.events
       select n, 'threat-' || n, 0, ${eventId}, 'ThreatStatusChanged', '{}', '{}', 0
       from generate_series(${PAGE}, $1::bigint, ${PAGE}) n`,
      [records],
    );
    await connection.query(
      `insert into read.checkpoints (projection, log_id, position, as_of) values ('register', $1, $2, $3)`,
      [logId, records, Date.now() + MS_PER_DAY],
    );
    await connection.query('reset synchronous_commit; reset maintenance_work_mem');
    await connection.query('vacuum analyze read.register');
  } finally {
    connection.release();
  }
};
