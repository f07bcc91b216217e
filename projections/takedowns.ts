import { storeNewest } from './store-newest.js';
import type { EventOf } from '../src/events/event.js';
import { recordOf, type RecordState } from '../src/events/record.js';
import { OUTCOME } from '../src/read-models/tables/records.js';
import { lastWriterWins, type ProjectedEvent, type Projection, type Write } from './engine/projection.js';

export const STORE_TAKEDOWNS = storeNewest(
  'takedowns-store',
  'takedowns',
  {
    organization: 'text',
    id: 'text',
    version: 'bigint',
    eventId: 'uuid',
    brand: 'text',
    type: 'text',
    outcome: 'smallint',
    createdAt: 'bigint',
    updatedAt: 'bigint',
  },
  { key: ['organization', 'id'] },
);

type TakedownEvent = EventOf<'TakedownFiled' | 'TakedownStatusChanged' | 'TakedownDeleted'>;

const OUTCOMES: Readonly<Record<string, number>> = {
  COMPLETED: OUTCOME.completed,
  CANCELED: OUTCOME.canceled,
  RETRACTED: OUTCOME.retracted,
};

interface State extends RecordState {
  readonly eventId: string;
  /** Empty if the takedown has no brand. */
  readonly brand: string;
  readonly type: string;
  /** Null if the takedown was deleted. */
  readonly outcome: number | null;
  /** When the takedown was created, in ms. */
  readonly createdAt: number | null;
  /** The last change, in ms. The last change of a completed takedown is its completion. */
  readonly updatedAt: number | null;
}

const DELETED = { brand: '', type: '', outcome: null, createdAt: null, updatedAt: null };

const stateOf = ({ id: eventId, event }: ProjectedEvent<TakedownEvent>): State => {
  const record = { ...recordOf(event), eventId };
  if (event.type === 'TakedownDeleted') return { ...record, ...DELETED };
  const { brand = '', asset, status, createdAt, updatedAt } = event.data;
  return { ...record, brand, type: asset.type, outcome: OUTCOMES[status] ?? OUTCOME.open, createdAt, updatedAt };
};

const prepare = async (events: readonly ProjectedEvent<TakedownEvent>[]): Promise<Write> => {
  const newest = new Map<string, State>();
  for (const event of events) {
    const state = stateOf(event);
    lastWriterWins(newest, `${state.organization}\n${state.id}`, state);
  }
  const states = [...newest.values()];
  return async ({ connection }) => void (await STORE_TAKEDOWNS.runEach(connection, states));
};

/** The newest state of each takedown. */
export const takedowns = {
  name: 'takedowns',
  tables: ['takedowns'],
  indexedForReaders: ['takedowns'],
  types: ['TakedownFiled', 'TakedownStatusChanged', 'TakedownDeleted'],
  prepare,
} satisfies Projection<TakedownEvent>;
