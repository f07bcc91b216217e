import { Random } from '../test/support/random.js';
import { sent, type Sent, stored } from '../test/support/upstream.js';
import { DAY_COUNT, FIRST_DAY, ORGANIZATIONS, TYPES, zipfBounds } from './facts.js';
import { MS_PER_DAY } from '../src/events/instant.js';

const pickZipf = (random: Random, bounds: readonly number[]): number => {
  const drawn = random.next();
  const found = bounds.findIndex((bound) => drawn < bound);
  return found === -1 ? bounds.length : found;
};

const organizations = zipfBounds(ORGANIZATIONS);
const types = zipfBounds(TYPES.length);
const SETTLED = ['APPROVED', 'AUTO_APPROVED', 'BLOCKED', 'BLOCKED', 'WATCHLISTED', 'REJECTED'];

/**
 * Returns upstream events in chronological order: of 100 events, 68 are new threats, 12 reports, 8 takedowns, and 12
 * change or delete an earlier record. Organizations and types follow a Zipf distribution. Every run gets the same
 * events.
 */
export const upstreamEvents = (count: number, seed = 1): Sent[] => {
  const random = new Random(seed);
  const events: Sent[] = [];
  const text = (instant: number): string => new Date(instant).toISOString();
  const threats: { organization: string; threatId: string; asset: object; createdAt: string; updatedAt: number }[] = [];
  for (let index = 0; index < count; index += 1) {
    const at = FIRST_DAY * MS_PER_DAY + Math.floor((index * DAY_COUNT * MS_PER_DAY) / count);
    const organization = `org-${1 + pickZipf(random, organizations)}`;
    const asset = { type: TYPES[pickZipf(random, types)]!, content: `site-${seed}-${index}.example` };
    const drawn = random.int(100);
    const id = `${seed}-${index}`;
    const times = { createdAt: text(at), updatedAt: text(at) };
    if (drawn < 12 && threats.length > 100) {
      const known = threats[random.int(threats.length)]!;
      known.updatedAt = Math.max(known.updatedAt + 1, at);
      const { organization: owner, threatId, asset: recordedAsset, createdAt, updatedAt } = known;
      events.push(
        drawn === 0
          ? sent('ThreatDeleted', { organization: owner, threatId, deletedAt: text(updatedAt) }, id)
          : sent(
              'ThreatStatusChanged',
              {
                organization: owner,
                threatId,
                asset: recordedAsset,
                status: random.pick(SETTLED),
                createdAt,
                updatedAt: text(updatedAt),
              },
              id,
            ),
      );
    } else if (drawn < 24) events.push(sent('ReportFiled', { organization, reportId: id, brands: [], ...times }, id));
    else if (drawn < 32) {
      const status = random.chance(0.5) ? 'COMPLETED' : 'TODO';
      events.push(sent('TakedownFiled', { organization, takedownId: id, asset, status, ...times }, id));
    } else {
      threats.push({ organization, threatId: id, asset, createdAt: times.createdAt, updatedAt: at });
      const status = random.pick(['BLOCKED', 'BLOCKED', 'APPROVED', 'AUTO_APPROVED', 'PENDING', 'WATCHLISTED']);
      events.push(sent('ThreatStatusChanged', { organization, threatId: id, asset, status, ...times }, id));
    }
  }
  return events;
};

/** Converts events to the form in which the ingestion endpoint stores them. */
export const storedEvents = (events: readonly Sent[]) => events.map(stored);
