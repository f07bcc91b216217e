import { Conflict, Unprocessable } from '../errors.js';
import {
  IDEMPOTENCY_TTL_MS,
  type AssetGroupCreated,
  type AssetGroupDeleted,
  type AssetGroupRefused,
  type AssetGroupRenamed,
  type IdempotentRequest,
} from '../events/asset-groups.js';
import { groupNotFound } from './group-id.js';

export type AssetGroupEvent = AssetGroupCreated | AssetGroupRenamed | AssetGroupDeleted | AssetGroupRefused;

export type AssetGroupCommand =
  | {
      readonly type: 'CreateAssetGroup';
      readonly organization: string;
      readonly name: string;
      /** Present where the client sent an `Idempotency-Key`. */
      readonly request: IdempotentRequest | undefined;
    }
  | {
      readonly type: 'RenameAssetGroup';
      readonly organization: string;
      readonly groupId: number;
      readonly name: string;
    }
  | { readonly type: 'DeleteAssetGroup'; readonly organization: string; readonly groupId: number };

export interface IdempotentResponse {
  readonly bodyHash: string;
  /** The group that was created; undefined where the name was taken. */
  readonly groupId: number | undefined;
  /** ms */
  readonly answeredAt: number;
}

/**
 * What is known of an organization's groups. It need not be all of them: a decision looks only at the groups, names
 * and requests that its command names, and at the last number.
 */
export interface AssetGroups {
  /** The greatest number ever given; 0 before the first. */
  lastGroupId: number;
  /** The name of each group; undefined where it was deleted. */
  readonly nameById: Map<number, string | undefined>;
  /** Which group has a name. */
  readonly idByName: Map<string, number>;
  /** First answers by the hash of the `Idempotency-Key`. */
  readonly responses: Map<string, IdempotentResponse>;
}

export const noGroups = (): AssetGroups => ({
  lastGroupId: 0,
  nameById: new Map(),
  idByName: new Map(),
  responses: new Map(),
});

/** Takes note of an event, in place: a tail can be long. */
export const evolve = (groups: AssetGroups, event: AssetGroupEvent, request?: IdempotentRequest): void => {
  switch (event.type) {
    case 'AssetGroupCreated':
      setName(groups, event.data.groupId, event.data.name);
      rememberResponse(groups, event.data.groupId, event.data.createdAt, request);
      return;
    case 'AssetGroupRenamed':
      setName(groups, event.data.groupId, event.data.name);
      return;
    case 'AssetGroupDeleted':
      setName(groups, event.data.groupId, undefined);
      return;
    case 'AssetGroupRefused':
      rememberResponse(groups, undefined, event.data.createdAt, request);
  }
};

/** A group has this name now, or was deleted; the name it had before is free. */
export const setName = (groups: AssetGroups, groupId: number, name: string | undefined): void => {
  const before = groups.nameById.get(groupId);
  if (before !== undefined && groups.idByName.get(before) === groupId) groups.idByName.delete(before);
  groups.nameById.set(groupId, name);
  if (name !== undefined) groups.idByName.set(name, groupId);
  groups.lastGroupId = Math.max(groups.lastGroupId, groupId);
};

const rememberResponse = (
  groups: AssetGroups,
  groupId: number | undefined,
  answeredAt: number,
  request: IdempotentRequest | undefined,
): void => {
  if (request) groups.responses.set(request.idempotencyKeyHash, { bodyHash: request.bodyHash, groupId, answeredAt });
};

/** What follows from a command: events to record, and either the group it is about or why not. */
export type Decision =
  | {
      readonly events: readonly AssetGroupEvent[];
      readonly groupId: number;
      /** The first answer to an `Idempotency-Key`, again. */
      readonly replayed?: true;
      readonly refusal?: undefined;
    }
  | { readonly events: readonly AssetGroupEvent[]; readonly refusal: Error };

/** @param now ms */
export const decide = (groups: AssetGroups, command: AssetGroupCommand, now: number): Decision => {
  switch (command.type) {
    case 'CreateAssetGroup':
      return create(groups, command, now);
    case 'RenameAssetGroup':
      return rename(groups, command, now);
    case 'DeleteAssetGroup':
      return remove(groups, command, now);
  }
};

type CommandOf<Type extends AssetGroupCommand['type']> = Extract<AssetGroupCommand, { readonly type: Type }>;

const nameTaken = (replayed = false): Error => new Conflict('A group with this name already exists', replayed);

const create = (
  groups: AssetGroups,
  { organization, name, request }: CommandOf<'CreateAssetGroup'>,
  now: number,
): Decision => {
  const first = request && groups.responses.get(request.idempotencyKeyHash);
  if (first && now - first.answeredAt < IDEMPOTENCY_TTL_MS) {
    if (first.bodyHash !== request.bodyHash)
      return { events: [], refusal: new Unprocessable('This Idempotency-Key was used with another body') };
    return first.groupId === undefined
      ? { events: [], refusal: nameTaken(true) }
      : { events: [], groupId: first.groupId, replayed: true };
  }
  if (groups.idByName.has(name)) {
    const refused: AssetGroupRefused = { type: 'AssetGroupRefused', data: { organization, name, createdAt: now } };
    return { events: request ? [refused] : [], refusal: nameTaken() };
  }
  const groupId = groups.lastGroupId + 1;
  return {
    events: [{ type: 'AssetGroupCreated', data: { organization, groupId, name, createdAt: now } }],
    groupId,
  };
};

const rename = (
  groups: AssetGroups,
  { organization, groupId, name }: CommandOf<'RenameAssetGroup'>,
  now: number,
): Decision => {
  const current = groups.nameById.get(groupId);
  if (current === undefined) return { events: [], refusal: groupNotFound() };
  if (current === name) return { events: [], groupId };
  if (groups.idByName.has(name)) return { events: [], refusal: nameTaken() };
  return { events: [{ type: 'AssetGroupRenamed', data: { organization, groupId, name, updatedAt: now } }], groupId };
};

const remove = (
  groups: AssetGroups,
  { organization, groupId }: CommandOf<'DeleteAssetGroup'>,
  now: number,
): Decision => {
  if (groups.nameById.get(groupId) === undefined) return { events: [], refusal: groupNotFound() };
  return { events: [{ type: 'AssetGroupDeleted', data: { organization, groupId, deletedAt: now } }], groupId };
};
