import { json, statement } from '../../src/postgres/statement.js';
import type { Fact } from '../../src/events/facts.js';

type ArrayType = 'text[]' | 'smallint[]' | 'integer[]';

/**
 * Inserts new records, and returns the stored rows of known records. The column `counts` holds the facts of a record.
 */
export const INSERT_NEW_RECORDS = statement(
  'metrics-enter-records',
  { organization: 'text[]', kind: 'text[]', id: 'text[]', version: 'bigint[]', eventId: 'uuid[]', facts: 'text[]' },
  { ordinal: 'bigint', version: 'bigint', eventId: 'uuid', facts: json<readonly Fact[]>() },
  `
    with given as materialized (
      select i.*, r.version as known_version, r.event_id as known_event_id, r.counts as known_counts
      from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
        with ordinality i (organization, kind, id, version, event_id, counts, ordinal)
        left join lateral (
          select r.version, r.event_id, r.counts from records r
          where r.organization = i.organization and r.kind = i.kind and r.id = i.id limit 1
        ) r on true
    ), entered as (
      insert into records (organization, kind, id, version, event_id, counts)
      select organization, kind, id, version, event_id, counts::json from given where known_version is null
    )
    select ordinal, known_version as version, known_event_id as "eventId", known_counts as facts
    from given where known_version is not null`,
);

export const UPDATE_RECORDS = statement(
  'metrics-update-records',
  { organization: 'text[]', kind: 'text[]', id: 'text[]', version: 'bigint[]', eventId: 'uuid[]', facts: 'text[]' },
  {},
  `
    update records r set version = i.version, event_id = i.event_id, counts = i.counts::json
    from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
      i (organization, kind, id, version, event_id, counts)
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
);

export const DELETE_FACTS = statement(
  'metrics-delete-facts',
  { organization: 'text[]', brand: 'text[]', at: 'bigint[]', measure: 'smallint[]', type: 'text[]', record: 'text[]' },
  {},
  `
    delete from facts f
    using unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[])
      d (organization, brand, at, measure, type, record)
    where f.organization = d.organization and f.brand = d.brand and f.at = d.at and f.measure = d.measure
      and f.type = d.type and f.record = d.record`,
);

export const INSERT_FACTS = statement(
  'metrics-insert-facts',
  { organization: 'text[]', brand: 'text[]', at: 'bigint[]', measure: 'smallint[]', type: 'text[]', record: 'text[]' },
  {},
  `
    insert into facts (organization, brand, at, measure, type, record)
    select * from unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[])`,
);

/**
 * Creates the statements that add to a table of counts and subtract from it. Adding is an upsert, which always uses the
 * primary key. Subtracting is a merge: an upsert would propose a row with a negative count, which the table's
 * constraint `check (n >= 0)` rejects even if the key exists. Subtracting from a missing row inserts a negative count,
 * which the constraint rejects.
 */
const countStatements = <const Key extends Readonly<Record<string, ArrayType>>>(table: string, key: Key) => {
  const columns = Object.keys(key);
  const parameters = { ...key, n: 'bigint[]' } as const;
  const arrays = Object.values<string>(parameters).map((type, index) => `$${index + 1}::${type}`);
  const rows = `unnest(${arrays.join(', ')}) s (${columns.join(', ')}, n)`;
  return {
    add: statement(
      `metrics-add-to-${table}`,
      parameters,
      {},
      `
        insert into ${table} as t (${columns.join(', ')}, n) select * from ${rows}
        on conflict (${columns.join(', ')}) do update set n = t.n + excluded.n`,
    ),
    subtract: statement(
      `metrics-take-from-${table}`,
      parameters,
      {},
      `
        merge into ${table} t using ${rows} on ${columns.map((column) => `t.${column} = s.${column}`).join(' and ')}
        when matched and t.n = s.n then delete
        when matched then update set n = t.n - s.n
        when not matched then insert (${columns.join(', ')}, n)
          values (${columns.map((column) => `s.${column}`).join(', ')}, -s.n)`,
    ),
  };
};

const OWNER = { organization: 'text[]', brand: 'text[]' } as const;
export const DAY_COUNTS = countStatements('days', { ...OWNER, measure: 'smallint[]', day: 'integer[]' });
export const TYPE_DAY_COUNTS = countStatements('type_days', { ...OWNER, day: 'integer[]', type: 'text[]' });
