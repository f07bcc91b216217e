import type { EventLog } from '../../event-log/event-log.js';
import { readTail as readTailOf } from '../../event-log/stream-tail.js';
import { idempotentRequestOf } from '../../events/types/asset-groups.js';
import { assetGroupsStream } from '../../events/streams.js';
import { type AssetGroupEvent, type AssetGroups, evolve, noGroups } from './asset-group.js';

const MAX_TAIL = 20_000;

const TYPES = [
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
] as const satisfies readonly AssetGroupEvent['type'][];

/** What an organization's stream says after the revision that the read model has reached. */
export interface StreamTail {
  readonly groups: Readonly<AssetGroups>;
  /** The revision up to which it was read. */
  readonly revision: bigint;
}

/** @throws Unavailable if the read model is more events behind than a request may read */
export const readTail = async (
  log: EventLog,
  organization: string,
  after: bigint,
  maxEvents = MAX_TAIL,
): Promise<StreamTail> => {
  const groups = noGroups();
  const tail = { stream: assetGroupsStream(organization), types: TYPES, after, maxEvents, name: 'groups' };
  const revision = await readTailOf(log, tail, (event, { metadata }) =>
    evolve(groups, event, idempotentRequestOf(metadata)),
  );
  return { groups, revision };
};
