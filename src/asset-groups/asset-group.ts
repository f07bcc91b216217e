import { NotFound, Conflict, Unprocessable } from '../errors.js';
import type { IdempotentRequest } from '../events/event.js';
import type {
  AssetGroupCreated,
  AssetGroupDeleted,
  AssetGroupRefused,
  AssetGroupRenamed,
} from '../events/types/organizations.js';
import { firstResponse } from '../http/body/validation.js';

export const NO_SUCH_GROUP = 'The organization has no group with this id.';
export const GROUP_ID = {
  name: 'id',
  description: "The group's id.",
  schema: { type: 'integer', minimum: 1, example: 1 },
} as const;

export const groupNotFound = (): Error => new NotFound('Asset group not found');

/**
 * Parses a group id from the URL.
 * @throws NotFound if the text is not a group id
 */
export const groupIdOf = (text: string): number => {
  const id = /^[1-9]\d*$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw groupNotFound();
  return id;
};

export type AssetGroupEvent = AssetGroupCreated | AssetGroupRenamed | AssetGroupDeleted | AssetGroupRefused;

export type AssetGroupCommand =
  | {
      readonly type: 'CreateAssetGroup';
      readonly organization: string;
      readonly name: string;
      /** Present if the client sent an `Idempotency-Key`. */
      readonly request: IdempotentRequest | undefined;
    }
  | {
      readonly type: 'RenameAssetGroup';
      readonly organization: string;
      readonly groupId: number;
      readonly name: string;
    }
  | { readonly type: 'DeleteAssetGroup'; readonly organization: string; readonly groupId: number };

interface IdempotentResponse {
  readonly bodyHash: string;
  /** The created group; undefined if the name was taken. */
  readonly groupId: number | undefined;
  /** When the first response was sent, according to the event, in ms. */
  readonly answeredAt: number;
}

/**
 * The state of an organization's groups. The state may be partial, because a decision reads only the last id and the
 * groups, names and requests that the command names.
 */
export interface AssetGroups {
  /** The highest id that was ever assigned; 0 if no group was ever created. */
  lastGroupId: number;
  /** Undefined if the group was deleted. */
  readonly nameById: Map<number, string | undefined>;
  readonly idByName: Map<string, number>;
  /** First responses by the hash of their `Idempotency-Key`. */
  readonly responses: Map<string, IdempotentResponse>;
}

export const noGroups = (): AssetGroups => ({
  lastGroupId: 0,
  nameById: new Map(),
  idByName: new Map(),
  responses: new Map(),
});

/** Applies an event to `groups` in place, because copying the state for each event of a long stream would be slow. */
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

/** Sets the name of a group, and releases the previous name. A deleted group has the name undefined. */
export const setName = (groups: AssetGroups, groupId: number, name: string | undefined): void => {
  const previous = groups.nameById.get(groupId);
  if (previous !== undefined && groups.idByName.get(previous) === groupId) groups.idByName.delete(previous);
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

/** The outcome of a command: the events to append, and either the id of the group or the error. */
export type Decision =
  | {
      readonly events: readonly AssetGroupEvent[];
      readonly groupId: number;
      /** Set if the outcome repeats the first response to an `Idempotency-Key`. */
      readonly replayed?: true;
      readonly refusal?: undefined;
    }
  | { readonly events: readonly AssetGroupEvent[]; readonly refusal: Error };

/** Decides what a command changes, without I/O. @param now the current time in ms */
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
  const earlier = request && groups.responses.get(request.idempotencyKeyHash);
  const first = firstResponse(request, [earlier], ({ answeredAt }) => answeredAt, now);
  if (first instanceof Unprocessable) return { events: [], refusal: first };
  if (first)
    return first.groupId === undefined
      ? { events: [], refusal: nameTaken(true) }
      : { events: [], groupId: first.groupId, replayed: true };
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
