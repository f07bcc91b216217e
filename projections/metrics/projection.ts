import type { PoolClient, QueryConfig } from 'pg';
import type { EventOf } from '../../src/events/event.js';
import { COUNTED_TYPES, isLater, recordOf, type RecordState } from '../../src/events/record.js';
import { nameArray, numberArray } from '../../src/postgres/columns.js';
import { CountChanges } from './counts.js';
import { type Fact, factsOf, factsWithout } from '../../src/events/facts.js';
import { DELETE_FACTS, INSERT_NEW_RECORDS, INSERT_FACTS, UPDATE_RECORDS } from './statements.js';
import { lastWriterWins, type ProjectedEvent, type Projection, type Write } from '../engine/projection.js';
import { forEachYielding } from '../../src/flow/cooperative-yield.js';

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
