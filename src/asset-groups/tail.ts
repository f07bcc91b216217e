import { Unavailable } from '../errors.js';
import type { EventLog, RecordedEvent } from '../event-log/event-log.js';
import { idempotentRequestOf } from '../events/asset-groups.js';
import { parseEvent } from '../events/event.js';
import { assetGroupsStream } from '../events/streams.js';
import { type AssetGroupEvent, type AssetGroups, evolve, noGroups } from './asset-group.js';

const PAGE = 1_000;
/** Every request reads the tail, so an organization that writes while the projector is down must not make it endless. */
const MAX_TAIL = 20_000;
const RETRY_AFTER_SECONDS = 5;

const TYPES: ReadonlySet<string> = new Set<AssetGroupEvent['type']>([
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
]);

/** What an organization's stream says after the revision that the read model has reached. */
export interface StreamTail {
  readonly groups: Readonly<AssetGroups>;
  /** The revision up to which it was read. */
  readonly revision: bigint;
}

/** Applies an event to the groups. What the projector would park is ignored here too. */
const apply = (groups: AssetGroups, { stream, type, data, metadata }: RecordedEvent): void => {
  if (!TYPES.has(type)) return;
  const { event } = parseEvent(type as AssetGroupEvent['type'], data);
  if (!event || assetGroupsStream(event.data.organization) !== stream) return;
  evolve(groups, event, idempotentRequestOf(metadata));
};

/**
 * Reads an organization's stream after a revision. Read after the model, the two together are everything that was
 * recorded before.
 * @throws Unavailable if the read model is more events behind than a request may read
 */
export const readTail = async (
  log: EventLog,
  organization: string,
  after: bigint,
  maxEvents = MAX_TAIL,
): Promise<StreamTail> => {
  const stream = assetGroupsStream(organization);
  const groups = noGroups();
  let revision = after;
  let page: RecordedEvent[];
  do {
    if (revision - after >= maxEvents)
      throw new Unavailable('The read model of these groups is too far behind; try again', RETRY_AFTER_SECONDS);
    page = await log.readStream(stream, revision + 1n, PAGE);
    for (const event of page) apply(groups, event);
    revision = page.at(-1)?.revision ?? revision;
  } while (page.length === PAGE);
  return { groups, revision };
};
