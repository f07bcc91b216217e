import { storeNewest } from './store-newest.js';
import type { EventOf } from '../src/events/event.js';
import { recordOf } from '../src/events/record.js';
import { lastWriterWins, type ProjectedEvent, type Projection } from './engine/projection.js';

export const STORE_BRANDS = storeNewest(
  'brands-store',
  'brands',
  { organization: 'text', slug: 'text', isActive: 'boolean', version: 'bigint', eventId: 'uuid', name: 'text' },
  { key: ['organization', 'slug'], names: { slug: 'brand', isActive: 'registered' } },
);

export const STORE_FLAGS = storeNewest(
  'feature-flags-store',
  'feature_flags',
  { organization: 'text', slug: 'text', isActive: 'boolean', version: 'bigint', eventId: 'uuid' },
  { key: ['organization', 'slug'], names: { slug: 'flag', isActive: 'enabled' } },
);

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
