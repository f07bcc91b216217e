import type { EventOf } from '../src/events/event.js';
import { isLater, recordOf, type RecordState } from '../src/events/record.js';
import { OUTCOME } from '../src/read-models/takedown-outcome.js';
import type { ProjectedEvent, Projection, Write } from './engine/projection.js';
import { nameArray } from './metrics/array-text.js';
import { STORE_TAKEDOWNS } from './takedowns-sql.js';

type TakedownEvent = EventOf<'TakedownFiled' | 'TakedownStatusChanged' | 'TakedownDeleted'>;

const OUTCOMES: Readonly<Record<string, number>> = {
  COMPLETED: OUTCOME.completed,
  CANCELED: OUTCOME.canceled,
  RETRACTED: OUTCOME.retracted,
};

interface State extends RecordState {
  readonly eventId: string;
  /** '' = none. */
  readonly brand: string;
  readonly type: string;
  /** Null: deleted. */
  readonly outcome: number | null;
  /** ms */
  readonly createdAt: number | null;
  /** ms; for completed takedowns, the completion. */
  readonly updatedAt: number | null;
}

const DELETED = { brand: '', type: '', outcome: null, createdAt: null, updatedAt: null };

const stateOf = ({ id: eventId, event }: ProjectedEvent<TakedownEvent>): State => {
  const record = { ...recordOf(event), eventId };
  if (event.type === 'TakedownDeleted') return { ...record, ...DELETED };
  const { brand = '', asset, status, createdAt, updatedAt } = event.data;
  return { ...record, brand, type: asset.type, outcome: OUTCOMES[status] ?? OUTCOME.open, createdAt, updatedAt };
};

const nullableNumbers = (column: readonly (number | null)[]): string => `{${column.map(String).join(',')}}`;

const prepare = (events: readonly ProjectedEvent<TakedownEvent>[]): Write => {
  const newest = new Map<string, State>();
  for (const event of events) {
    const state = stateOf(event);
    const key = `${state.organization}\n${state.id}`;
    const known = newest.get(key);
    if (!known || isLater(state, known)) newest.set(key, state);
  }
  const states = [...newest.values()];
  const values = [
    nameArray(states.map(({ organization }) => organization)),
    nameArray(states.map(({ id }) => id)),
    nullableNumbers(states.map(({ version }) => version)),
    nameArray(states.map(({ eventId }) => eventId)),
    nameArray(states.map(({ brand }) => brand)),
    nameArray(states.map(({ type }) => type)),
    nullableNumbers(states.map(({ outcome }) => outcome)),
    nullableNumbers(states.map(({ createdAt }) => createdAt)),
    nullableNumbers(states.map(({ updatedAt }) => updatedAt)),
  ];
  return async ({ connection }) => void (await connection.query({ ...STORE_TAKEDOWNS, values }));
};

/** Each takedown's newest state. */
export const takedowns = {
  name: 'takedowns',
  tables: ['takedowns'],
  types: ['TakedownFiled', 'TakedownStatusChanged', 'TakedownDeleted'],
  write: (events, transaction) => prepare(events)(transaction),
  prepare: (events) => Promise.resolve(prepare(events)),
} satisfies Projection<TakedownEvent>;
