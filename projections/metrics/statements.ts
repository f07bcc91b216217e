/** A prepared statement; its parameters are columns, one element per row of the batch. */
interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Inserts new records, and returns what is stored for the others. */
export const ENTER_RECORDS = {
  name: 'metrics-enter-records',
  text: `
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
    select ordinal, known_version as version, known_event_id as "eventId", known_counts as counts
    from given where known_version is not null`,
};

export const UPDATE_RECORDS = {
  name: 'metrics-update-records',
  text: `
    update records r set version = i.version, event_id = i.event_id, counts = i.counts::json
    from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
      i (organization, kind, id, version, event_id, counts)
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
};

export const DELETE_FACTS = {
  name: 'metrics-delete-facts',
  text: `
    delete from facts f
    using unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[])
      d (organization, brand, at, measure, type, record)
    where f.organization = d.organization and f.brand = d.brand and f.at = d.at and f.measure = d.measure
      and f.type = d.type and f.record = d.record`,
};

export const INSERT_FACTS = {
  name: 'metrics-insert-facts',
  text: `
    insert into facts (organization, brand, at, measure, type, record)
    select * from unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[])`,
};

/** Adds to and subtracts from a table of counts, given arrays of key columns and of positive numbers. */
export interface CountStatements {
  readonly add: Statement;
  readonly take: Statement;
}

/**
 * Adding is an upsert, which uses the key whatever the planner assumes. An upsert cannot subtract, because the proposed
 * row must satisfy the table's check; that is a merge, in which subtracting from a missing row fails the check.
 */
const countsIn = (table: string, key: Readonly<Record<string, string>>): CountStatements => {
  const columns = Object.keys(key);
  const parameters = [...Object.values(key), 'bigint'].map((type, index) => `$${index + 1}::${type}[]`);
  const rows = `unnest(${parameters.join(', ')}) s (${columns.join(', ')}, n)`;
  return {
    add: {
      name: `metrics-add-to-${table}`,
      text: `
        insert into ${table} as t (${columns.join(', ')}, n) select * from ${rows}
        on conflict (${columns.join(', ')}) do update set n = t.n + excluded.n`,
    },
    take: {
      name: `metrics-take-from-${table}`,
      text: `
        merge into ${table} t using ${rows} on ${columns.map((column) => `t.${column} = s.${column}`).join(' and ')}
        when matched and t.n = s.n then delete
        when matched then update set n = t.n - s.n
        when not matched then insert (${columns.join(', ')}, n)
          values (${columns.map((column) => `s.${column}`).join(', ')}, -s.n)`,
    },
  };
};

const OWNER = { organization: 'text', brand: 'text' };
export const DAYS = countsIn('days', { ...OWNER, measure: 'smallint', day: 'int' });
export const TYPE_DAYS = countsIn('type_days', { ...OWNER, day: 'int', type: 'text' });
