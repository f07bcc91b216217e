import type { PoolClient } from 'pg';
import { assetKey } from '../src/assets/asset-key.js';
import type { UpstreamEvent } from '../src/events/event.js';
import { dayOf } from '../src/events/instant.js';
import { isLater, recordOf, type RecordState } from '../src/events/record.js';
import { DAYS_PER_BLOCK, MEASURE } from '../src/read-models/measure.js';
import { nameArray, numberArray } from './array-text.js';
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

/** What is known of these records. */
const FIND_RECORDS = {
  name: 'metrics-find-records',
  text: `
    select i.ordinal, r.version, r.event_id as "eventId", r.counts
    from unnest($1::text[], $2::text[], $3::text[]) with ordinality i (organization, kind, id, ordinal)
      cross join lateral (
        select r.version, r.event_id, r.counts from records r
        where r.organization = i.organization and r.kind = i.kind and r.id = i.id limit 1
      ) r`,
};

const INSERT_RECORDS = {
  name: 'metrics-insert-records',
  text: `
    insert into records (organization, kind, id, version, event_id, counts)
    select organization, kind, id, version, event_id, counts::json
    from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
      i (organization, kind, id, version, event_id, counts)`,
};

const UPDATE_RECORDS = {
  name: 'metrics-update-records',
  text: `
    update records r set version = i.version, event_id = i.event_id, counts = i.counts::json
    from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::uuid[], $6::text[])
      i (organization, kind, id, version, event_id, counts)
    where r.organization = i.organization and r.kind = i.kind and r.id = i.id`,
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

/**
 * Adds differences to the counts of a table, by its key. A merge, because an upsert would fail the table's check on a
 * difference below zero before it looked for the row.
 */
const addTo = (table: string, key: Readonly<Record<string, string>>): { name: string; text: string } => {
  const columns = Object.keys(key);
  const parameters = [...Object.values(key), 'bigint'].map((type, index) => `$${index + 1}::${type}[]`);
  return {
    name: `metrics-add-to-${table}`,
    text: `
      merge into ${table} t using unnest(${parameters.join(', ')}) s (${columns.join(', ')}, n)
      on ${columns.map((column) => `t.${column} = s.${column}`).join(' and ')}
      when matched and t.n + s.n = 0 then delete
      when matched then update set n = t.n + s.n
      when not matched then insert (${columns.join(', ')}, n)
        values (${columns.map((column) => `s.${column}`).join(', ')}, s.n)`,
  };
};

const OWNER = { organization: 'text', brand: 'text' };
const ADD_TO_DAYS = addTo('days', { ...OWNER, measure: 'smallint', day: 'int' });
const ADD_TO_TYPE_DAYS = addTo('type_days', { ...OWNER, day: 'int', type: 'text' });
const ADD_TO_TYPE_BLOCKS = addTo('type_blocks', { ...OWNER, block: 'int', type: 'text' });

const arrayText = (column: readonly (string | number)[]): string =>
  typeof column[0] === 'string' ? nameArray(column as string[]) : numberArray(column as number[]);

/** Facts as arrays, one a column. */
class FactColumns {
  private readonly columns: [string[], string[], number[], number[], string[], string[]] = [[], [], [], [], [], []];

  get length(): number {
    return this.columns[0].length;
  }

  get values(): string[] {
    return this.columns.map(arrayText);
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

/** Differences of counts, netted by key, so that a busy day's row is touched once a batch. */
class Differences {
  private readonly cells = new Map<string, { readonly key: readonly (string | number)[]; n: number }>();

  add(key: readonly (string | number)[], n: number): void {
    const text = key.join('\n');
    const cell = this.cells.get(text);
    if (cell) cell.n += n;
    else this.cells.set(text, { key, n });
  }

  /** The arrays of the statement, sorted by key so that two writers could never lock each other out. */
  values(): string[] | undefined {
    const changed = [...this.cells].filter(([, { n }]) => n !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
    if (changed.length === 0) return undefined;
    const cells = changed.map(([, cell]) => cell);
    const columns = cells[0]!.key.map((_, column) => arrayText(cells.map(({ key }) => key[column]!)));
    return [...columns, numberArray(cells.map(({ n }) => n))];
  }
}

/** What a batch changes in all that is counted of the facts. */
class CountDifferences {
  private readonly days = new Differences();
  private readonly typeDays = new Differences();
  private readonly typeBlocks = new Differences();

  add([organization, brand, at, measure, type]: Fact, n: number): void {
    const day = dayOf(at);
    this.days.add([organization, brand, measure, day], n);
    if (measure !== MEASURE.threat) return;
    this.typeDays.add([organization, brand, day, type], n);
    this.typeBlocks.add([organization, brand, Math.floor(day / DAYS_PER_BLOCK), type], n);
  }

  async write(connection: PoolClient): Promise<void> {
    for (const [statement, differences] of [
      [ADD_TO_DAYS, this.days],
      [ADD_TO_TYPE_DAYS, this.typeDays],
      [ADD_TO_TYPE_BLOCKS, this.typeBlocks],
    ] as const) {
      const values = differences.values();
      if (values) await connection.query({ ...statement, values });
    }
  }
}

/** The facts that are not among the others. */
const without = (facts: readonly Fact[], others: readonly Fact[]): readonly Fact[] => {
  if (facts.length === 0 || others.length === 0) return facts;
  const known = new Set(others.map(String));
  return facts.filter((fact) => !known.has(String(fact)));
};

interface KnownState {
  readonly version: number;
  readonly eventId: string;
  readonly counts: readonly Fact[];
}

const keysOf = (states: readonly NewState[]): string[] => [
  nameArray(states.map(({ organization }) => organization)),
  nameArray(states.map(({ kind }) => kind)),
  nameArray(states.map(({ id }) => id)),
];

const rowsOf = (states: readonly NewState[]): unknown[] => [
  ...keysOf(states),
  numberArray(states.map(({ version }) => version)),
  nameArray(states.map(({ eventId }) => eventId)),
  states.map(({ facts }) => JSON.stringify(facts)),
];

/**
 * What a record counted as is read here, never believed of an event. Between reading and writing nobody else can write:
 * whoever holds the checkpoint is alone.
 */
const apply = async (events: readonly ProjectedEvent[], connection: PoolClient): Promise<void> => {
  const states = newestStates(events);
  const { rows } = await connection.query<KnownState & { ordinal: number }>({
    ...FIND_RECORDS,
    values: keysOf(states),
  });
  const known = new Map(rows.map((row) => [states[row.ordinal - 1]!, row]));
  const fresh: NewState[] = [];
  const newer: NewState[] = [];
  const gone = new FactColumns();
  const come = new FactColumns();
  const differences = new CountDifferences();
  for (const state of states) {
    const before = known.get(state);
    if (before && !isLater(state, before)) continue;
    (before ? newer : fresh).push(state);
    for (const fact of without(before?.counts ?? [], state.facts)) {
      gone.add(fact, state.id);
      differences.add(fact, -1);
    }
    for (const fact of without(state.facts, before?.counts ?? [])) {
      come.add(fact, state.id);
      differences.add(fact, 1);
    }
  }
  if (fresh.length > 0) await connection.query({ ...INSERT_RECORDS, values: rowsOf(fresh) });
  if (newer.length > 0) await connection.query({ ...UPDATE_RECORDS, values: rowsOf(newer) });
  if (gone.length > 0) await connection.query({ ...DELETE_FACTS, values: gone.values });
  if (come.length > 0) await connection.query({ ...INSERT_FACTS, values: come.values });
  await differences.write(connection);
};

/** Reports, threats, watchlist and takedowns, for organizations and brands, as facts and as counts of them. */
export const metrics: Projection = {
  name: 'metrics',
  tables: ['records', 'facts', 'days', 'type_days', 'type_blocks'],
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
