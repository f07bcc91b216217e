import { describe, expect, it } from '@jest/globals';
import {
  type AssetGroupCommand,
  type AssetGroupEvent,
  type Decision,
  decide,
  evolve,
  noGroups,
} from '../../../src/asset-groups/groups/asset-group.js';
import { Conflict, NotFound, Unprocessable } from '../../../src/errors.js';
import { IDEMPOTENCY_TTL_MS, type IdempotentRequest } from '../../../src/events/types/asset-groups.js';

const NOW = 1_790_000_000_000;
const organization = 'acme';
type Given = AssetGroupEvent | readonly [AssetGroupEvent, IdempotentRequest];

const created = (groupId: number, name: string, createdAt = NOW - 1_000): AssetGroupEvent => ({
  type: 'AssetGroupCreated',
  data: { organization, groupId, name, createdAt },
});
const renamed = (groupId: number, name: string): AssetGroupEvent => ({
  type: 'AssetGroupRenamed',
  data: { organization, groupId, name, updatedAt: NOW },
});
const deleted = (groupId: number): AssetGroupEvent => ({
  type: 'AssetGroupDeleted',
  data: { organization, groupId, deletedAt: NOW },
});
const refused = (name: string, createdAt = NOW): AssetGroupEvent => ({
  type: 'AssetGroupRefused',
  data: { organization, name, createdAt },
});
const create = (name: string, request?: IdempotentRequest): AssetGroupCommand => ({
  type: 'CreateAssetGroup',
  organization,
  name,
  request,
});
const rename = (groupId: number, name: string): AssetGroupCommand => ({
  type: 'RenameAssetGroup',
  organization,
  groupId,
  name,
});
const remove = (groupId: number): AssetGroupCommand => ({ type: 'DeleteAssetGroup', organization, groupId });
const key = (idempotencyKeyHash: string, bodyHash = 'body'): IdempotentRequest => ({ idempotencyKeyHash, bodyHash });

const given = (...events: Given[]) => ({
  when: (command: AssetGroupCommand): Decision => {
    const groups = noGroups();
    for (const one of events) {
      if (one instanceof Array) evolve(groups, one[0], one[1]);
      else evolve(groups, one as AssetGroupEvent);
    }
    return decide(groups, command, NOW);
  },
});

describe('creating a group', () => {
  it('gives the first one number 1', () => {
    expect(given().when(create('Sites'))).toEqual({ events: [created(1, 'Sites', NOW)], groupId: 1 });
  });

  it('counts on from the greatest number ever given, a deleted group included', () => {
    expect(given(created(1, 'A'), created(2, 'B'), deleted(2)).when(create('C'))).toEqual({
      events: [created(3, 'C', NOW)],
      groupId: 3,
    });
  });

  it('is refused while the name is taken, and nothing is recorded', () => {
    const decision = given(created(1, 'A')).when(create('A'));
    expect(decision).toEqual({ events: [], refusal: new Conflict('A group with this name already exists') });
    expect(decision.refusal).toBeInstanceOf(Conflict);
  });

  it('tells names apart by case, by blanks and by how an accent is written', () => {
    const groups = given(created(1, 'Café'));
    for (const name of ['café', 'Café ', 'Cafe\u0301']) expect(groups.when(create(name))).toMatchObject({ groupId: 2 });
  });

  it('takes a name that a rename or a deletion has freed', () => {
    expect(given(created(1, 'A'), renamed(1, 'B')).when(create('A'))).toMatchObject({ groupId: 2 });
    expect(given(created(1, 'A'), deleted(1)).when(create('A'))).toMatchObject({ groupId: 2 });
    expect(given(created(1, 'A'), renamed(1, 'B')).when(create('B')).refusal).toBeInstanceOf(Conflict);
  });

  it('keeps a name taken when the group that held it earlier is deleted', () => {
    const decision = given(created(1, 'A'), renamed(1, 'B'), created(2, 'A'), deleted(1)).when(create('A'));
    expect(decision.refusal).toBeInstanceOf(Conflict);
  });
});

describe('creating a group with an Idempotency-Key', () => {
  it('gives the first answer again, whatever became of the group', () => {
    const first: Given = [created(1, 'A'), key('k')];
    expect(given(first).when(create('A', key('k')))).toEqual({ events: [], groupId: 1, replayed: true });
    expect(given(first, renamed(1, 'B')).when(create('A', key('k')))).toEqual({
      events: [],
      groupId: 1,
      replayed: true,
    });
    expect(given(first, deleted(1)).when(create('A', key('k')))).toEqual({ events: [], groupId: 1, replayed: true });
  });

  it('records a refusal, so that it stays refused when the name is free again', () => {
    const decision = given(created(1, 'A')).when(create('A', key('k')));
    expect(decision.events).toEqual([refused('A')]);
    expect(decision.refusal).toBeInstanceOf(Conflict);
    const again = given(created(1, 'A'), [refused('A'), key('k')], deleted(1)).when(create('A', key('k')));
    expect(again.events).toEqual([]);
    expect(again.refusal).toBeInstanceOf(Conflict);
  });

  it('refuses another body under the same key, after a refusal too', () => {
    for (const first of [created(1, 'A'), refused('A')])
      expect(given([first, key('k')]).when(create('B', key('k', 'other'))).refusal).toBeInstanceOf(Unprocessable);
  });

  it('decides again under another key', () => {
    expect(given([created(1, 'A'), key('k')]).when(create('B', key('l')))).toMatchObject({ groupId: 2 });
  });

  it('forgets the first answer after 24 hours', () => {
    const at = (createdAt: number) =>
      given([created(1, 'A', createdAt), key('k')]).when(create('B', key('k', 'other')));
    expect(at(NOW - IDEMPOTENCY_TTL_MS + 1).refusal).toBeInstanceOf(Unprocessable);
    expect(at(NOW - IDEMPOTENCY_TTL_MS)).toMatchObject({ groupId: 2 });
  });
});

describe('renaming a group', () => {
  it('gives it the name', () => {
    expect(given(created(1, 'A')).when(rename(1, 'B'))).toEqual({ events: [renamed(1, 'B')], groupId: 1 });
  });

  it('to its own name is fine and records nothing', () => {
    expect(given(created(1, 'A')).when(rename(1, 'A'))).toEqual({ events: [], groupId: 1 });
  });

  it('is refused if another group has the name', () => {
    const decision = given(created(1, 'A'), created(2, 'B')).when(rename(1, 'B'));
    expect(decision).toEqual({ events: [], refusal: new Conflict('A group with this name already exists') });
  });

  it('finds no group that never was or was deleted', () => {
    expect(given(created(1, 'A')).when(rename(2, 'B')).refusal).toBeInstanceOf(NotFound);
    expect(given(created(1, 'A'), deleted(1)).when(rename(1, 'B'))).toEqual({
      events: [],
      refusal: new NotFound('Asset group not found'),
    });
  });
});

describe('deleting a group', () => {
  it('is done once; again it is not found', () => {
    expect(given(created(1, 'A')).when(remove(1))).toEqual({ events: [deleted(1)], groupId: 1 });
    expect(given(created(1, 'A'), deleted(1)).when(remove(1)).refusal).toBeInstanceOf(NotFound);
    expect(given().when(remove(1)).refusal).toBeInstanceOf(NotFound);
  });
});
