import type { EventOf } from '../../src/events/event.js';
import { recordOf } from '../../src/events/record.js';
import { STORE_BRANDS, STORE_FLAGS } from './statements.js';
import { lastWriterWins, type ProjectedEvent, type Projection } from '../engine/projection.js';

type SettingEvent = EventOf<'BrandRegistered' | 'BrandRemoved' | 'FeatureFlagChanged'>;

interface Change {
  readonly organization: string;
  readonly slug: string;
  readonly name: string | null;
  /** Whether the brand is registered, or the flag is enabled. */
  readonly isActive: boolean;
  readonly version: number;
  readonly eventId: string;
}

const changeOf = ({ id, event }: ProjectedEvent<SettingEvent>): Change => {
  const { organization, id: slug, version } = recordOf(event);
  const state =
    event.type === 'FeatureFlagChanged'
      ? { name: null, isActive: event.data.enabled }
      : { name: event.data.name ?? null, isActive: event.type === 'BrandRegistered' };
  return { organization, slug, version, eventId: id, ...state };
};

/** Returns the newest change of each brand or flag. */
const newest = (changes: readonly Change[]): Change[] => {
  const byKey = new Map<string, Change>();
  for (const change of changes) lastWriterWins(byKey, `${change.organization}\n${change.slug}`, change);
  return [...byKey.values()];
};

/** The brands and feature flags of each organization. */
export const brandsAndFlags: Projection<SettingEvent> = {
  name: 'brands-and-flags',
  tables: ['brands', 'feature_flags'],
  types: ['BrandRegistered', 'BrandRemoved', 'FeatureFlagChanged'],
  prepare:
    async (events) =>
    async ({ connection }) => {
      const isFlag = ({ event }: ProjectedEvent): boolean => event.type === 'FeatureFlagChanged';
      const flags = events.filter(isFlag).map(changeOf);
      const brands = events.filter((event) => !isFlag(event)).map(changeOf);
      await STORE_BRANDS.runEach(connection, newest(brands));
      await STORE_FLAGS.runEach(connection, newest(flags));
    },
};
