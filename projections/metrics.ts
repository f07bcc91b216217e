import type { QueryConfig, PoolClient } from 'pg';
import { json, statement, columnArray, numberArray, nameArray } from '../src/postgres/statement.js';
import { type Fact, MEASURE, factsOf, factsWithout } from '../src/events/facts.js';
import { dayOf } from '../src/events/instant.js';
import type { EventOf } from '../src/events/event.js';
import { COUNTED_TYPES, isLater, recordOf, type RecordState } from '../src/events/record.js';
import { lastWriterWins, type ProjectedEvent, type Projection, type Write } from './engine/projection.js';
import { forEachYielding } from '../src/flow/time.js';

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

/** A change of one count by `n`. */
interface CountChange {
  readonly key: readonly (string | number)[];
  n: number;
}

/** Changes of one table of counts, summed by key, so that each row is updated at most once per batch. */
class TableChanges<Values> {
  private readonly changes = new Map<string, CountChange>();

  constructor(
    private readonly table: Readonly<Record<'add' | 'subtract', { query(values: Values): QueryConfig }>>,
    /**
     * Builds the parameters of a statement from the columns of the key and the column of numbers, each a PostgreSQL
     * array literal.
     */
    private readonly valuesOf: (key: readonly string[], n: string) => Values,
  ) {}

  add(key: readonly (string | number)[], n: number): void {
    const text = key.join('\n');
    const change = this.changes.get(text);
    if (change) change.n += n;
    else this.changes.set(text, { key, n });
  }

  /** Yields the statements that apply the changes. Rows are sorted by key, so that two writers cannot deadlock. */
  *statements(): Generator<QueryConfig> {
    const changes = [...this.changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
    const increases = changes.filter(({ n }) => n > 0);
    if (increases.length > 0) yield this.table.add.query(this.valuesFor(increases));
    const decreases = changes.filter(({ n }) => n < 0);
    if (decreases.length > 0) yield this.table.subtract.query(this.valuesFor(decreases));
  }

  private valuesFor(changes: readonly CountChange[]): Values {
    const key = changes[0]!.key.map((_, column) => columnArray(changes.map((change) => change.key[column]!)));
    return this.valuesOf(key, numberArray(changes.map(({ n }) => Math.abs(n))));
  }
}

/** The changes of a batch to all tables of counts. */
export class CountChanges {
  private readonly days = new TableChanges(DAY_COUNTS, ([organization, brand, measure, day], n) => ({
    organization: organization!,
    brand: brand!,
    measure: measure!,
    day: day!,
    n,
  }));
  private readonly typeDays = new TableChanges(TYPE_DAY_COUNTS, ([organization, brand, day, type], n) => ({
    organization: organization!,
    brand: brand!,
    day: day!,
    type: type!,
    n,
  }));

  add(facts: readonly Fact[], n: number): void {
    for (const [organization, brand, at, measure, type] of facts) {
      const day = dayOf(at);
      this.days.add([organization, brand, measure, day], n);
      if (measure === MEASURE.threat) this.typeDays.add([organization, brand, day, type], n);
    }
  }

  *statements(): Generator<QueryConfig> {
    yield* this.days.statements();
    yield* this.typeDays.statements();
  }
}

export type MetricEvent = EventOf<(typeof COUNTED_TYPES)[number]>;

interface NewState extends RecordState {
  readonly eventId: string;
  readonly facts: readonly Fact[];
}

/**
 * Returns the newest state of each record among these events. States are sorted by organization, so that neighbouring
 * rows are written together.
 */
const newestStates = async (events: readonly ProjectedEvent<MetricEvent>[]): Promise<NewState[]> => {
  const newest = new Map<string, NewState>();
  await forEachYielding(events, ({ id, event }) => {
    const record = recordOf(event);
    const state = { ...record, eventId: id, facts: factsOf(event) };
    lastWriterWins(newest, `${record.organization}\n${record.kind}\n${record.id}`, state);
  });
  return [...newest.values()].sort((a, b) =>
    a.organization === b.organization ? 0 : a.organization < b.organization ? -1 : 1,
  );
};

/** Facts as one array per column. */
class FactColumns {
  private readonly columns: [string[], string[], number[], number[], string[], string[]] = [[], [], [], [], [], []];

  get length(): number {
    return this.columns[0].length;
  }

  get values() {
    const [organizations, brands, instants, measures, types, records] = this.columns;
    return {
      organization: nameArray(organizations),
      brand: nameArray(brands),
      at: numberArray(instants),
      measure: numberArray(measures),
      type: nameArray(types),
      record: nameArray(records),
    };
  }

  add(facts: readonly Fact[], record: string): void {
    const [organizations, brands, instants, measures, types, records] = this.columns;
    for (const [organization, brand, at, measure, type] of facts) {
      organizations.push(organization);
      brands.push(brand);
      instants.push(at);
      measures.push(measure);
      types.push(type);
      records.push(record);
    }
  }
}

const recordColumns = (states: readonly NewState[]) => ({
  organization: nameArray(states.map(({ organization }) => organization)),
  kind: nameArray(states.map(({ kind }) => kind)),
  id: nameArray(states.map(({ id }) => id)),
  version: numberArray(states.map(({ version }) => version)),
  eventId: nameArray(states.map(({ eventId }) => eventId)),
  facts: states.map(({ facts }) => JSON.stringify(facts)),
});

/**
 * Prepares a batch as if all records were new, because most records are new. `write` corrects the counts for known
 * records.
 */
const prepare = async (events: readonly ProjectedEvent<MetricEvent>[]): Promise<Write> => {
  const states = await newestStates(events);
  const countChanges = new CountChanges();
  await forEachYielding(states, ({ facts }) => countChanges.add(facts, 1));
  const records = recordColumns(states);
  return ({ connection }) => write(states, records, countChanges, connection);
};

/**
 * Writes a batch. The previous facts of known records are read from the table. No other process can change the table
 * meanwhile, because this transaction holds the lock of the checkpoint.
 */
const write = async (
  states: readonly NewState[],
  records: ReturnType<typeof recordColumns>,
  countChanges: CountChanges,
  connection: PoolClient,
): Promise<void> => {
  const rows = await INSERT_NEW_RECORDS.run(connection, records);
  const known = new Map(rows.map((row) => [states[row.ordinal - 1]!, row]));
  const newer: NewState[] = [];
  const removed = new FactColumns();
  const added = new FactColumns();
  for (const state of states) {
    const previous = known.get(state);
    if (!previous) added.add(state.facts, state.id);
    else if (isLater(state, previous)) {
      newer.push(state);
      removed.add(factsWithout(previous.facts, state.facts), state.id);
      added.add(factsWithout(state.facts, previous.facts), state.id);
      countChanges.add(previous.facts, -1);
    } else countChanges.add(state.facts, -1);
  }
  await sendPipelined(connection, function* () {
    if (newer.length > 0) yield UPDATE_RECORDS.query(recordColumns(newer));
    if (removed.length > 0) yield DELETE_FACTS.query(removed.values);
    if (added.length > 0) yield INSERT_FACTS.query(added.values);
    yield* countChanges.statements();
  });
};

/**
 * Sends statements one by one. While PostgreSQL executes a statement, the values of the next statement are serialised.
 */
const sendPipelined = async (connection: PoolClient, statements: () => Iterable<QueryConfig>): Promise<void> => {
  let result: Promise<unknown> = Promise.resolve();
  for (const statement of statements()) {
    await result;
    result = connection.query(statement);
  }
  await result;
};

/** Facts and counts of the reports, threats and takedowns of organizations and brands. */
export const metrics = {
  name: 'metrics',
  tables: ['records', 'facts', 'days', 'type_days'],
  types: COUNTED_TYPES,
  prepare,
} satisfies Projection<MetricEvent>;
