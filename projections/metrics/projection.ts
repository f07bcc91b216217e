import type { PoolClient, QueryConfig } from 'pg';
import type { EventOf } from '../../src/events/event.js';
import { COUNTED_TYPES, isLater, recordOf, type RecordState } from '../../src/events/record.js';
import { nameArray, numberArray } from '../../src/postgres/columns.js';
import { CountDifferences } from './counts.js';
import { type Fact, factsOf, factsWithout } from '../../src/events/facts.js';
import { DELETE_FACTS, ENTER_RECORDS, INSERT_FACTS, UPDATE_RECORDS } from './statements.js';
import { lastWriterWins, type ProjectedEvent, type Projection, type Write } from '../engine/projection.js';
import { chunksYielding } from '../../src/flow/yielder.js';

export type MetricEvent = EventOf<(typeof COUNTED_TYPES)[number]>;

interface NewState extends RecordState {
  readonly eventId: string;
  readonly facts: readonly Fact[];
}

/**
 * The newest state of each record among these events; sorted by owner, so that neighbouring rows are written together.
 */
const newestStates = async (events: readonly ProjectedEvent<MetricEvent>[]): Promise<NewState[]> => {
  const newest = new Map<string, NewState>();
  for await (const few of chunksYielding(events))
    for (const { id, event } of few) {
      const record = recordOf(event);
      const state = { ...record, eventId: id, facts: factsOf(event) };
      lastWriterWins(newest, `${record.organization}\n${record.kind}\n${record.id}`, state);
    }
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

const recordsOf = (states: readonly NewState[]) => ({
  organization: nameArray(states.map(({ organization }) => organization)),
  kind: nameArray(states.map(({ kind }) => kind)),
  id: nameArray(states.map(({ id }) => id)),
  version: numberArray(states.map(({ version }) => version)),
  eventId: nameArray(states.map(({ eventId }) => eventId)),
  facts: states.map(({ facts }) => JSON.stringify(facts)),
});

/** Prepares a batch as if all its records were new, which most are; `write` corrects the others. */
const prepare = async (events: readonly ProjectedEvent<MetricEvent>[]): Promise<Write> => {
  const states = await newestStates(events);
  const differences = new CountDifferences();
  for await (const few of chunksYielding(states)) for (const { facts } of few) differences.add(facts, 1);
  const records = recordsOf(states);
  return ({ connection }) => write(states, records, differences, connection);
};

/**
 * The facts a record counted as are read from the tables, not derived from events. Nobody else can write between read
 * and write: the checkpoint's holder is alone.
 */
const write = async (
  states: readonly NewState[],
  records: ReturnType<typeof recordsOf>,
  differences: CountDifferences,
  connection: PoolClient,
): Promise<void> => {
  const rows = await ENTER_RECORDS.run(connection, records);
  const known = new Map(rows.map((row) => [states[row.ordinal - 1]!, row]));
  const newer: NewState[] = [];
  const gone = new FactColumns();
  const come = new FactColumns();
  for (const state of states) {
    const before = known.get(state);
    if (!before) come.add(state.facts, state.id);
    else if (isLater(state, before)) {
      newer.push(state);
      gone.add(factsWithout(before.facts, state.facts), state.id);
      come.add(factsWithout(state.facts, before.facts), state.id);
      differences.add(before.facts, -1);
    } else differences.add(state.facts, -1);
  }
  await sendEach(connection, function* () {
    if (newer.length > 0) yield UPDATE_RECORDS.query(recordsOf(newer));
    if (gone.length > 0) yield DELETE_FACTS.query(gone.values);
    if (come.length > 0) yield INSERT_FACTS.query(come.values);
    yield* differences.statements();
  });
};

/** Sends statements one after another; while PostgreSQL works on one, the next one's values are serialised. */
const sendEach = async (connection: PoolClient, statements: () => Iterable<QueryConfig>): Promise<void> => {
  let answer: Promise<unknown> = Promise.resolve();
  for (const statement of statements()) {
    await answer;
    answer = connection.query(statement);
  }
  await answer;
};

/** Reports, threats, watchlist and takedowns of organizations and brands, as facts and as counts. */
export const metrics = {
  name: 'metrics',
  tables: ['records', 'facts', 'days', 'type_days'],
  types: COUNTED_TYPES,
  prepare,
} satisfies Projection<MetricEvent>;
