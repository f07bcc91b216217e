import type { EventLog } from '../../event-log/event-log.js';
import { readTail as readTailOf } from '../../event-log/stream-tail.js';
import { idempotentRequestOf } from '../../events/idempotent-request.js';
import { assetGroupsStream } from '../../events/streams.js';
import { type AssetGroupEvent, type AssetGroups, evolve, noGroups } from './asset-group.js';

/** Maximum number of events that a request reads. */
const MAX_TAIL = 20_000;

const TYPES = [
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
] as const satisfies readonly AssetGroupEvent['type'][];

/** The groups according to the events after the revision that the read model has reached. */
export interface StreamTail {
  readonly groups: Readonly<AssetGroups>;
  /** The revision up to which the stream was read. */
  readonly revision: bigint;
}

/** @throws Unavailable if the read model is more than `maxEvents` events behind */
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
