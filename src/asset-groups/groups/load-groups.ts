import type { Pool } from 'pg';
import type { Loaded } from '../../event-log/command-queue.js';
import type { EventLog } from '../../event-log/event-log.js';
import type { RowOf } from '../../postgres/statement.js';
import { type AssetGroups, noGroups, setName } from './asset-group.js';
import { KNOWN_GROUPS } from './statements.js';
import { readTail } from './group-tail.js';

/** The part of an organization's groups that a command or a query needs. */
export interface NeededGroups {
  readonly names?: readonly string[];
  readonly ids?: readonly number[];
  /** Hashes of `Idempotency-Key`s. */
  readonly keys?: readonly string[];
}

export interface LoadedGroups extends Loaded {
  readonly groups: AssetGroups;
  /** The position of the log that the read model has reached. */
  readonly position: bigint;
  /** The asset counts of the groups that are requested by id. */
  readonly assets: ReadonlyMap<number, number>;
}

/** The state of the read model in one snapshot. */
type Row = RowOf<typeof KNOWN_GROUPS>;

const TIME_LIMIT_MS = 2_500;

/**
 * Loads the current state of a part of an organization's groups, including all earlier changes that any instance has
 * made. The state is the read model with the later events of the stream applied.
 * @throws Unavailable if the read model is too far behind
 */
export const loadGroups = async (
  pool: Pool,
  log: EventLog,
  organization: string,
  { names = [], ids = [], keys = [] }: NeededGroups,
): Promise<LoadedGroups> => {
  const values = { organization, names, groupIds: ids, keyHashes: keys };
  const model = (await KNOWN_GROUPS.run(pool, values, TIME_LIMIT_MS))[0]!;
  const { groups: tail, revision } = await readTail(log, organization, BigInt(model.revision ?? -1));
  return {
    groups: merge({ names, ids, keys }, model, tail),
    revision,
    now: model.now,
    position: BigInt(model.position),
    assets: new Map(model.assets),
  };
};

const merge = (
  { names, ids, keys }: Required<NeededGroups>,
  model: Pick<Row, 'groups' | 'answers' | 'last_group_id'>,
  tail: Readonly<AssetGroups>,
): AssetGroups => {
  const groups = noGroups();
  for (const { id, name } of model.groups ?? []) if (!tail.nameById.has(id)) setName(groups, id, name);
  for (const { keyHash, bodyHash, groupId, answeredAt } of model.answers ?? [])
    groups.responses.set(keyHash, { bodyHash, groupId: groupId ?? undefined, answeredAt });

  for (const id of ids) if (tail.nameById.has(id)) setName(groups, id, tail.nameById.get(id));
  for (const name of names) {
    const holder = tail.idByName.get(name);
    if (holder !== undefined) setName(groups, holder, name);
  }
  for (const key of keys) {
    const response = tail.responses.get(key);
    if (response) groups.responses.set(key, response);
  }
  groups.lastGroupId = Math.max(model.last_group_id ?? 0, tail.lastGroupId);
  return groups;
};
