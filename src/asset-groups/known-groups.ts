import type { Pool } from 'pg';
import { type AssetGroupCommand, type AssetGroups, setName, noGroups } from './asset-group.js';
import { KNOWN_GROUPS } from './statements.js';

/** The read model's groups, names and requests that a set of commands refers to, in one snapshot. */
export interface KnownGroups {
  readonly revision: bigint;
  readonly lastGroupId: number;
  readonly groups: readonly { readonly id: number; readonly name: string }[];
  readonly answers: readonly {
    readonly keyHash: string;
    readonly bodyHash: string;
    readonly groupId: number | null;
    readonly answeredAt: number;
  }[];
  /** Asset counts of groups named by id. */
  readonly assets: ReadonlyMap<number, number>;
}

interface Row {
  revision: number | null;
  last_group_id: number | null;
  groups: KnownGroups['groups'] | null;
  answers: KnownGroups['answers'] | null;
  assets: [id: number, n: number][] | null;
}

const TIME_LIMIT_MS = 2_500;

const namesOf = (commands: readonly AssetGroupCommand[]): string[] =>
  commands.flatMap((command) => (command.type === 'DeleteAssetGroup' ? [] : [command.name]));
const numbersOf = (commands: readonly AssetGroupCommand[]): number[] =>
  commands.flatMap((command) => (command.type === 'CreateAssetGroup' ? [] : [command.groupId]));
const keysOf = (commands: readonly AssetGroupCommand[]): string[] =>
  commands.flatMap((command) =>
    command.type === 'CreateAssetGroup' && command.request ? [command.request.idempotencyKeyHash] : [],
  );

export const readKnownGroups = async (
  pool: Pool,
  organization: string,
  commands: readonly AssetGroupCommand[],
): Promise<KnownGroups> => {
  const values = [organization, namesOf(commands), numbersOf(commands), keysOf(commands)];
  const query = { ...KNOWN_GROUPS, values, query_timeout: TIME_LIMIT_MS };
  const row = (await pool.query<Row>(query)).rows[0]!;
  return {
    revision: BigInt(row.revision ?? -1),
    lastGroupId: row.last_group_id ?? 0,
    groups: row.groups ?? [],
    answers: row.answers ?? [],
    assets: new Map(row.assets),
  };
};

/** The state that these commands are decided on: the model's, updated by the tail after it. */
export const groupsFor = (
  commands: readonly AssetGroupCommand[],
  model: KnownGroups,
  tail: Readonly<AssetGroups>,
): AssetGroups => {
  const groups = noGroups();
  for (const { id, name } of model.groups) if (!tail.nameById.has(id)) setName(groups, id, name);
  for (const { keyHash, bodyHash, groupId, answeredAt } of model.answers)
    groups.responses.set(keyHash, { bodyHash, groupId: groupId ?? undefined, answeredAt });

  for (const id of numbersOf(commands)) if (tail.nameById.has(id)) setName(groups, id, tail.nameById.get(id));
  for (const name of namesOf(commands)) {
    const holder = tail.idByName.get(name);
    if (holder !== undefined) setName(groups, holder, name);
  }
  for (const key of keysOf(commands)) {
    const answer = tail.responses.get(key);
    if (answer) groups.responses.set(key, answer);
  }
  groups.lastGroupId = Math.max(model.lastGroupId, tail.lastGroupId);
  return groups;
};
