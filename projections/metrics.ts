import type { PoolClient } from 'pg';
import { assetKey } from '../src/assets/asset-key.js';
import type { UpstreamEvent } from '../src/events/event.js';
import { dayOf } from '../src/events/instant.js';
import { isLater, recordOf, type RecordState } from '../src/events/record.js';
import { type Fact, factsOf } from './metrics-facts.js';
import type { ProjectedEvent, Projection } from './projection.js';

interface NewState extends RecordState {
  readonly eventId: string;
  readonly facts: readonly Fact[];
}

/** The newest state of each record among these events. */
const newestStates = (events: readonly ProjectedEvent[]): NewState[] => {
  const newest = new Map<string, NewState>();
  for (const { id, event } of events as readonly ProjectedEvent<UpstreamEvent>[]) {
    const record = recordOf(event, assetKey);
    const key = `${record.organization}\n${record.kind}\n${record.id}`;
    const known = newest.get(key);
    if (known && !isLater({ version: record.version, eventId: id }, known)) continue;
    newest.set(key, { ...record, eventId: id, facts: factsOf(event) });
  }
  return [...newest.values()];
};

/**
 * Stores the states that are newer than the stored ones, and gives their places in the input with the facts that the
 * states before them counted as. What a record counted as is read here, never believed of an event.
 */
const STORE_STATES = {
  name: 'metrics-store-states',
  text: `
    with input as materialized (
      select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
        with ordinality i (organization, kind, id, version, event_id, counts, ordinal)
    ), old as materialized (
      select i.ordinal, r.counts
      from input i cross join lateral (
        select r.counts from records r
        where r.organization = i.organization and r.kind = i.kind and r.id = i.id limit 1
      ) r
    ), stored as (
      insert into records as r (organization, kind, id, version, event_id, counts)
      select organization, kind, id, version, event_id, counts::json from input
      on conflict (organization, kind, id) do update
        set version = excluded.version, event_id = excluded.event_id, counts = excluded.counts
        where (excluded.version, excluded.event_id) > (r.version, r.event_id)
      returning organization, kind, id
    )
    select i.ordinal, old.counts
    from stored s
      join input i on i.organization = s.organization and i.kind = s.kind and i.id = s.id
      left join old on old.ordinal = i.ordinal`,
};

const DELETE_FACTS = {
  name: 'metrics-delete-facts',
  text: `
    delete from facts f
    using unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[])
      d (organization, brand, at, measure, type, record)
    where f.organization = d.organization and f.brand = d.brand and f.at = d.at and f.measure = d.measure
      and f.type = d.type and f.record = d.record`,
};

const INSERT_FACTS = {
  name: 'metrics-insert-facts',
  text: `
    insert into facts (organization, brand, at, measure, type, record)
    select * from unnest($1::text[], $2::text[], $3::bigint[], $4::smallint[], $5::text[], $6::text[])`,
};

/** An upsert would fail the table's check on a difference below zero before it looked for the row. */
const ADD_TO_DAYS = {
  name: 'metrics-add-to-days',
  text: `
    merge into days d
    using unnest($1::text[], $2::text[], $3::int[], $4::smallint[], $5::text[], $6::bigint[])
      s (organization, brand, day, measure, type, n)
    on d.organization = s.organization and d.brand = s.brand and d.day = s.day and d.measure = s.measure
      and d.type = s.type
    when matched and d.n + s.n = 0 then delete
    when matched then update set n = d.n + s.n
    when not matched then insert (organization, brand, day, measure, type, n)
      values (s.organization, s.brand, s.day, s.measure, s.type, s.n)`,
};

/** Facts as arrays, one a column. */
class FactColumns {
  private readonly columns: [string[], string[], number[], number[], string[], string[]] = [[], [], [], [], [], []];

  get length(): number {
    return this.columns[0].length;
  }

  get values(): unknown[] {
    return this.columns;
  }

  add([organization, brand, at, measure, type]: Fact, record: string): void {
    const [organizations, brands, instants, measures, types, records] = this.columns;
    organizations.push(organization);
    brands.push(brand);
    instants.push(at);
    measures.push(measure);
    types.push(type);
    records.push(record);
  }
}

/** Differences by day, netted, so that a busy day's row is touched once a batch. */
class DayDifferences {
  private readonly cells = new Map<string, { key: Fact; n: number }>();

  add([organization, brand, at, measure, type]: Fact, n: number): void {
    const key: Fact = [organization, brand, dayOf(at), measure, type];
    const text = key.join('\n');
    const cell = this.cells.get(text);
    if (cell) cell.n += n;
    else this.cells.set(text, { key, n });
  }

  /** The arrays of the statement, sorted by key so that two writers could never lock each other out. */
  values(): unknown[] | undefined {
    const changed = [...this.cells].filter(([, { n }]) => n !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
    if (changed.length === 0) return undefined;
    const cells = changed.map(([, cell]) => cell);
    return [...[0, 1, 2, 3, 4].map((column) => cells.map(({ key }) => key[column])), cells.map(({ n }) => n)];
  }
}

/** The facts that are not among the others. */
const without = (facts: readonly Fact[], others: readonly Fact[]): readonly Fact[] => {
  if (facts.length === 0 || others.length === 0) return facts;
  const known = new Set(others.map(String));
  return facts.filter((fact) => !known.has(String(fact)));
};

const apply = async (events: readonly ProjectedEvent[], connection: PoolClient): Promise<void> => {
  const states = newestStates(events);
  const { rows } = await connection.query<{ ordinal: number; counts: Fact[] | null }>({
    ...STORE_STATES,
    values: [
      states.map(({ organization }) => organization),
      states.map(({ kind }) => kind),
      states.map(({ id }) => id),
      states.map(({ version }) => version),
      states.map(({ eventId }) => eventId),
      states.map(({ facts }) => JSON.stringify(facts)),
    ],
  });
  const gone = new FactColumns();
  const come = new FactColumns();
  const differences = new DayDifferences();
  for (const { ordinal, counts: before } of rows) {
    const { facts: now, id } = states[ordinal - 1]!;
    for (const fact of without(before ?? [], now)) {
      gone.add(fact, id);
      differences.add(fact, -1);
    }
    for (const fact of without(now, before ?? [])) {
      come.add(fact, id);
      differences.add(fact, 1);
    }
  }
  if (gone.length > 0) await connection.query({ ...DELETE_FACTS, values: gone.values });
  if (come.length > 0) await connection.query({ ...INSERT_FACTS, values: come.values });
  const days = differences.values();
  if (days) await connection.query({ ...ADD_TO_DAYS, values: days });
};

/** Reports, threats, watchlist and takedowns, for organizations and brands, as facts and by day. */
export const metrics: Projection = {
  name: 'metrics',
  tables: ['records', 'facts', 'days'],
  types: [
    'ReportFiled',
    'ReportDeleted',
    'ThreatStatusChanged',
    'ThreatDeleted',
    'TakedownFiled',
    'TakedownStatusChanged',
    'TakedownDeleted',
    'AssetStatusChanged',
    'AssetStatusChangeDeleted',
  ],
  apply: (_tx, events, connection) => apply(events, connection),
};
