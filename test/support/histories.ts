import { EARLIEST } from '../../src/events/instant.js';
import type { Random } from './random.js';
import { sent, type Sent } from './upstream.js';

export const ORGANIZATIONS = ['acme', 'acme-2', 'b'];
export const BRANDS = ['wallet', 'wallet-2', 'x'];
const TYPES = ['URL', 'PAGE', 'ADDRESS', 'TWITTER', 'TELEGRAM', 'DISCORD', 'NEW_KIND'];
const THREAT_STATUSES = ['PENDING', 'APPROVED', 'AUTO_APPROVED', 'BLOCKED', 'REJECTED', 'WATCHLISTED', 'NEWER'];
const TAKEDOWN_STATUSES = ['TODO', 'COMPLETED', 'COMPLETED', 'CANCELED', 'RETRACTION_SENT', 'RETRACTED', 'NEWER'];

/**
 * Midnights at which calendar errors are likely: the turn of the year, around the leap day, 1970, and an ordinary one.
 */
const MIDNIGHTS = [
  '2024-01-01',
  '2024-02-29',
  '2024-03-01',
  '2023-12-31',
  '2025-01-01',
  '2025-03-01',
  '1970-01-01',
  '2025-06-15',
  '0099-12-31',
].map((day) => Date.parse(`${day}T00:00:00Z`));

/** Returns an instant (in ms) that is often within a millisecond of a midnight. */
export const edgeInstant = (random: Random): number =>
  random.pick(MIDNIGHTS) +
  random.pick([-1, 0, 1, -1, 0, 1, 43_200_000, random.int(86_400_000), -random.int(86_400_000)]);

/** Formats an instant, sometimes with an offset. */
const text = (random: Random, instant: number): string => {
  if (random.chance(0.8)) return new Date(instant).toISOString();
  return new Date(instant + 5.5 * 3_600_000).toISOString().replace('Z', '+05:30');
};

/**
 * Random changes of a record: states, deletions and states after deletions, some at the same instant.
 * @param earliest the earliest instant (ms). The endpoint rejects instants before 1970, but an old log may contain them
 */
export const history = (random: Random, size: number, earliest = EARLIEST): Sent[] => {
  const events: Sent[] = [];
  const instant = (): string => text(random, Math.max(edgeInstant(random), earliest));
  const asset = () => ({ type: random.pick(TYPES), content: `site-${random.int(20)}.example` });
  for (let index = 0; index < size; index += 1) {
    const organization = random.pick(ORGANIZATIONS);
    const id = `r:${random.int(size / 6)}`;
    const isDeletion = random.chance(0.15);
    switch (random.int(4)) {
      case 0:
        events.push(
          isDeletion
            ? sent('ReportDeleted', { organization, reportId: id, deletedAt: instant() })
            : sent('ReportFiled', {
                organization,
                reportId: id,
                brands: random.chance(0.2) ? undefined : BRANDS.filter(() => random.chance(0.4)),
                createdAt: instant(),
                updatedAt: instant(),
              }),
        );
        break;
      case 1:
        events.push(
          isDeletion
            ? sent('ThreatDeleted', { organization, threatId: id, deletedAt: instant() })
            : sent('ThreatStatusChanged', {
                organization,
                threatId: id,
                asset: asset(),
                status: random.pick(THREAT_STATUSES),
                createdAt: instant(),
                updatedAt: instant(),
              }),
        );
        break;
      case 2:
        events.push(
          isDeletion
            ? sent('TakedownDeleted', { organization, takedownId: id, deletedAt: instant() })
            : sent(random.pick(['TakedownFiled', 'TakedownStatusChanged']), {
                organization,
                takedownId: id,
                brand: random.chance(0.3) ? undefined : random.pick(BRANDS),
                asset: asset(),
                status: random.pick(TAKEDOWN_STATUSES),
                createdAt: instant(),
                updatedAt: instant(),
              }),
        );
        break;
      default:
        events.push(
          isDeletion
            ? sent('AssetStatusChangeDeleted', { changeId: id, asset: asset(), deletedAt: instant() })
            : sent('AssetStatusChanged', {
                changeId: id,
                asset: asset(),
                status: random.pick(['BLOCKED', 'BLOCKED', 'ALLOWED', 'UNKNOWN']),
                brandReviews: [0, 1, 2]
                  .filter(() => random.chance(0.6))
                  .map(() => ({ organization: random.pick(ORGANIZATIONS), brand: random.pick(BRANDS) })),
                createdAt: instant(),
              }),
        );
    }
  }
  return events;
};

/** Disputes, some with resolutions, of which several may be of the same instant. */
export const disputes = (random: Random, size: number): Sent[] =>
  Array.from({ length: size }, (_, n): Sent[] => {
    const dispute = { organization: random.pick(ORGANIZATIONS), disputeId: `dp_${n}` };
    const asset = { type: 'URL', content: `site-${random.int(20)}.example` };
    const verdict = { status: 'BLOCKED', source: 'own', sources: [], message: 'Blocked.' };
    const createdAt = edgeInstant(random);
    const resolution = (): Sent =>
      sent('DisputeResolved', {
        ...dispute,
        outcome: random.pick(['ACCEPTED', 'REJECTED']),
        resolvedAt: text(random, createdAt + random.pick([-1, 0, 1, random.int(1e9)])),
      });
    // The service itself appends the first event; in the log, it has the same form.
    const filed = { ...dispute, asset, content: asset.content, verdict, createdAt: text(random, createdAt) };
    return [sent('DisputeFiled' as Sent['type'], filed), ...Array.from({ length: random.int(3) }, resolution)];
  }).flat();

/** A history as it arrives: late, out of order, with repeated events. */
export const delivered = (random: Random, events: readonly Sent[]): Sent[] => {
  const repeated = events.filter(() => random.chance(0.4));
  return random.shuffled([...events, ...repeated], random.pick([1, 10, events.length]));
};
