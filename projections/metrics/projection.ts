import type { QueryConfig, PoolClient } from 'pg';
import { nameArray, type RowOf } from '../../src/postgres/statement.js';
import { factsOf } from '../../src/events/facts.js';
import type { EventOf } from '../../src/events/event.js';
import { COUNTED_TYPES, isLater, recordOf } from '../../src/events/record.js';
import type { ProjectedEvent, Projection, Recorded, Write } from '../engine/projection.js';
import { forEachYielding } from '../../src/flow/time.js';
import { type Counting, countingOf, earliest, storeChangedThreats, type ThreatStates } from './changed-threats.js';
import { CountChanges } from './counts.js';
import {
  DELETE_FORMER_FACTS,
  DELETE_FORMER_STATES,
  END_FACTS,
  INSERT_FACTS,
  INSERT_FORMER_FACTS,
  INSERT_FORMER_STATES,
  INSERT_NEW_RECORDS,
  READ_FORMER_STATES,
  UPDATE_RECORDS,
} from './facts-sql.js';
import {
  type CountedFact,
  countedIn,
  type FormerFact,
  type History,
  lagOf,
  spanOf,
  type State,
  withState,
} from './history.js';
import { advanceClock, instantsAt } from './log-clock.js';

export type MetricEvent = EventOf<(typeof COUNTED_TYPES)[number]>;

const stateOf = ({ id: eventId, event, position }: ProjectedEvent<MetricEvent>): State => {
  const facts = factsOf(event);
  const reviews = event.type === 'AssetStatusChanged' && facts.length === 0 ? event.data.brandReviews : [];
  const named = reviews.length === 0 ? null : [...new Set(reviews.map(({ organization }) => organization))];
  const { organization, kind, id, version } = recordOf(event);
  return { organization, kind, id, version, eventId, position: Number(position), facts, named };
};

const keyOf = ({ organization, kind, id }: Pick<State, 'organization' | 'kind' | 'id'>): string =>
  `${organization}\n${kind}\n${id}`;

const newestOf = (history: History): State => history.at(-1)!;

interface Histories {
  /** The history of each record, sorted by organization, so that neighbouring rows are written together. */
  readonly histories: readonly History[];
  /** The earliest counting of each threat with several states, by key, including states that were outdated when stored. */
  readonly countings: ReadonlyMap<string, Counting | undefined>;
}

/** Returns the history of each record among these events. */
const historiesOf = async (events: readonly ProjectedEvent<MetricEvent>[]): Promise<Histories> => {
  const histories = new Map<string, History>();
  const countings = new Map<string, Counting | undefined>();
  await forEachYielding(events, (event) => {
    const state = stateOf(event);
    const key = keyOf(state);
    const history = histories.get(key) ?? [];
    if (state.kind === 'threat' && history.length > 0) {
      const before = countings.has(key) ? countings.get(key) : countingOf(newestOf(history).facts);
      countings.set(key, earliest(before, countingOf(state.facts)));
    }
    histories.set(key, withState(history, state));
  });
  const sorted = [...histories.values()].sort((a, b) => {
    const [{ organization: one }, { organization: other }] = [newestOf(a), newestOf(b)];
    return one === other ? 0 : one < other ? -1 : 1;
  });
  return { histories: sorted, countings };
};

const recordRow = ({ organization, kind, id, version, eventId, facts, position, named }: State) => ({
  organization,
  kind,
  id,
  version,
  eventId,
  facts: JSON.stringify(facts),
  position,
  named: named && nameArray(named),
});

const factRow = ({ fact: [organization, brand, at, measure, type], record }: CountedFact) => ({
  organization,
  brand,
  at,
  measure,
  type,
  record,
});

/** A former fact that has a row of its own, which knows both positions. */
type StoredFormerFact = FormerFact & { readonly since: number };
const hasSince = (fact: FormerFact): fact is StoredFormerFact => fact.since !== undefined;

const formerRow = (former: StoredFormerFact) => ({
  ...factRow(former),
  since: former.since,
  until: former.until,
  span: spanOf(former),
});

/** What a batch changes in the tables of records and facts. */
class Changes {
  readonly newer: State[] = [];
  readonly formerStates: State[] = [];
  readonly counted: CountedFact[] = [];
  readonly former: StoredFormerFact[] = [];
  /** Facts with a row that no longer count. */
  readonly ended: (CountedFact & { readonly until: number | null })[] = [];
  /** What was stored of records whose history changes in the past, except their newest states. */
  readonly forgotten: State[] = [];
  readonly forgottenFormer: StoredFormerFact[] = [];

  /** @param isStored whether the first state of the history is stored, as the newest one */
  add(history: History, isStored: boolean): void {
    this.formerStates.push(...history.slice(0, -1));
    const { counted, former } = countedIn(history, isStored);
    this.counted.push(...counted.filter(({ since }) => since !== undefined));
    this.former.push(...former.filter(hasSince));
    this.ended.push(...former.filter((fact) => !hasSince(fact)));
  }

  /** Removes what is stored of a record, so that `add` stores it anew. */
  forget(history: History): void {
    this.forgotten.push(newestOf(history));
    const { counted, former } = countedIn(history, false);
    this.ended.push(...counted.map((fact) => ({ ...fact, until: null })));
    this.forgottenFormer.push(...former.filter(hasSince));
  }

  /** @param instants when the log stored the event at each position at which a fact begins to count, in ms */
  *statements(instants: ReadonlyMap<number, number>): Generator<QueryConfig> {
    const { newer, forgotten, forgottenFormer, ended, counted, former, formerStates } = this;
    if (newer.length > 0) yield UPDATE_RECORDS.queryEach(newer.map(recordRow));
    if (forgotten.length > 0) yield DELETE_FORMER_STATES.queryEach(forgotten);
    if (forgottenFormer.length > 0) yield DELETE_FORMER_FACTS.queryEach(forgottenFormer.map(formerRow));
    if (ended.length > 0) yield END_FACTS.queryEach(ended.map((fact) => ({ ...factRow(fact), until: fact.until })));
    if (counted.length > 0)
      yield INSERT_FACTS.queryEach(
        counted.map((each) => {
          const since = each.since!;
          const recordedAt = instants.get(since);
          // Unknown for rows of version 2.1, until they are rebuilt.
          return { ...factRow(each), since, lag: recordedAt === undefined ? 0 : lagOf(each.fact, recordedAt) };
        }),
      );
    if (former.length > 0) yield INSERT_FORMER_FACTS.queryEach(former.map(formerRow));
    if (formerStates.length > 0) yield INSERT_FORMER_STATES.queryEach(formerStates.map(recordRow));
  }
}

/**
 * Prepares a batch as if all records were new, because most records are new. `write` corrects the counts for known
 * records.
 */
const prepare = async (
  events: readonly ProjectedEvent<MetricEvent>[],
  recorded: readonly Recorded[],
): Promise<Write> => {
  const { histories, countings } = await historiesOf(events);
  const countChanges = new CountChanges();
  await forEachYielding(histories, (history) => countChanges.add(newestOf(history).facts, 1));
  const records = histories.map((history) => recordRow(newestOf(history)));
  return ({ connection }) => write({ histories, countings }, records, countChanges, recorded, connection);
};

/** A record of the batch that is stored already. */
interface Known {
  readonly history: History;
  readonly stored: State;
}

/** Returns undefined for other records, and for a new threat with one state, which counts first and last. */
const threatStatesOf = (
  history: History,
  stored: State | undefined,
  countings: Histories['countings'],
): ThreatStates | undefined => {
  const newest = newestOf(history);
  if (newest.kind !== 'threat') return undefined;
  const key = keyOf(newest);
  if (stored === undefined && !countings.has(key)) return undefined;
  return {
    organization: newest.organization,
    id: newest.id,
    first: countings.has(key) ? countings.get(key) : countingOf(newest.facts),
    newest: countingOf(stored !== undefined && isLater(stored, newest) ? stored.facts : newest.facts),
    stored: stored && countingOf(stored.facts),
  };
};

/**
 * Writes a batch. The previous states of known records are read from the table. No other process can change the table
 * meanwhile, because this transaction holds the lock of the checkpoint.
 */
const write = async (
  { histories, countings }: Histories,
  records: readonly ReturnType<typeof recordRow>[],
  countChanges: CountChanges,
  recorded: readonly Recorded[],
  connection: PoolClient,
): Promise<void> => {
  const instants = new Map(await advanceClock(recorded, connection));
  if (histories.length === 0) return;
  const rows = await INSERT_NEW_RECORDS.runEach(connection, records);
  const known = new Map(rows.map((row) => [histories[row.ordinal - 1]!, row]));
  const changes = new Changes();
  const late: Known[] = [];
  const threats: ThreatStates[] = [];
  for (const history of histories) {
    const row = known.get(history);
    const newest = newestOf(history);
    const stored = row && storedState(newest, row);
    const states = threatStatesOf(history, stored, countings);
    if (states) threats.push(states);
    if (stored === undefined) {
      changes.add(history, false);
      continue;
    }
    const isNewer = isLater(newest, stored);
    countChanges.add(isNewer ? stored.facts : newest.facts, -1);
    if (history[0]!.position < stored.position) late.push({ history, stored });
    else if (isNewer) {
      changes.newer.push(newest);
      changes.add(history.reduce(withState, [stored]), true);
    }
  }
  await rewriteLate(late, changes, connection);
  await storeChangedThreats(threats, connection);
  const missing = changes.counted.flatMap(({ since }) => (instants.has(since!) ? [] : [since!]));
  for (const [position, instant] of await instantsAt(missing, connection)) instants.set(position, instant);
  await sendPipelined(connection, function* () {
    yield* changes.statements(instants);
    yield* countChanges.statements();
  });
};

const storedState = (
  { organization, kind, id }: State,
  { version, eventId, facts, position, named }: Omit<RowOf<typeof INSERT_NEW_RECORDS>, 'ordinal'>,
): State => ({ organization, kind, id, version, eventId, facts, position, named });

/**
 * Changes what counted in the past, for events that are applied after later events of their records: retried events, and
 * the copies that a rebuild finds after a scavenge. Such events are rare, so the rows of their records are replaced.
 */
const rewriteLate = async (late: readonly Known[], changes: Changes, connection: PoolClient): Promise<void> => {
  const records = late.map(({ stored }) => stored);
  const former = new Map<string, State[]>(records.map((record) => [keyOf(record), []]));
  for (const state of await READ_FORMER_STATES.runEach(connection, records)) former.get(keyOf(state))!.push(state);
  for (const { history, stored } of late) {
    const before: History = [...former.get(keyOf(stored))!, stored];
    const after = history.reduce(withState, before);
    if (after === before) continue;
    if (newestOf(after) !== stored) changes.newer.push(newestOf(after));
    changes.forget(before);
    changes.add(after, false);
  }
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

/** Facts and counts of the reports, threats and takedowns of organizations and brands, now and at every position before. */
export const metrics = {
  name: 'metrics',
  versions: [3],
  tables: [
    'records',
    'facts',
    'days',
    'type_days',
    'former_states',
    'former_facts',
    'changed_threats',
    'changed_threat_days',
    'log_clock',
  ],
  indexedForReaders: ['facts', 'changed_threats'],
  clock: 'log_clock',
  types: COUNTED_TYPES,
  prepare,
} satisfies Projection<MetricEvent>;
