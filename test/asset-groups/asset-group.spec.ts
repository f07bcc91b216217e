import { describe, expect, it } from '@jest/globals';
import { type AssetGroupEvent, type Decision, decide, evolve, noGroups } from '../../src/asset-groups/asset-group.js';
import { Conflict, Unprocessable } from '../../src/errors.js';
import { IDEMPOTENCY_TTL_MS, type IdempotentRequest } from '../../src/events/event.js';

const NOW = 1_790_000_000_000;
const organization = 'acme';

const created = (groupId: number, name: string, createdAt = NOW - 1_000): AssetGroupEvent => ({
  type: 'AssetGroupCreated',
  data: { organization, groupId, name, createdAt },
});
const refused = (name: string): AssetGroupEvent => ({
  type: 'AssetGroupRefused',
  data: { organization, name, createdAt: NOW },
});
const key = (bodyHash = 'body'): IdempotentRequest => ({ idempotencyKeyHash: 'k', bodyHash });

/** Decides a create after these events, the first of which has an Idempotency-Key. */
const decideAfter = (events: readonly AssetGroupEvent[], name: string, request?: IdempotentRequest): Decision => {
  const groups = noGroups();
  for (const [index, event] of events.entries()) evolve(groups, event, index === 0 ? key() : undefined);
  return decide(groups, { type: 'CreateAssetGroup', organization, name, request }, NOW);
};

// test/features/asset-groups.spec.ts tests all other decisions, from the tail of the stream and from the read model.
describe('Creating a group', () => {
  it('is rejected if another group has the name, even if a deleted group had the name earlier', () => {
    const renamed: AssetGroupEvent = {
      type: 'AssetGroupRenamed',
      data: { organization, groupId: 1, name: 'B', updatedAt: NOW },
    };
    const deleted: AssetGroupEvent = { type: 'AssetGroupDeleted', data: { organization, groupId: 1, deletedAt: NOW } };
    const decision = decideAfter([created(1, 'A'), renamed, created(2, 'A'), deleted], 'A');
    expect(decision).toEqual({ events: [], refusal: new Conflict('A group with this name already exists') });
  });

  it.each([created(1, 'A'), refused('A')])(
    'is rejected if the Idempotency-Key was used for $type with another body',
    (first) => {
      expect(decideAfter([first], 'B', key('other')).refusal).toBeInstanceOf(Unprocessable);
    },
  );

  it('is accepted if the Idempotency-Key was used with another body at least 24 hours earlier', () => {
    const at = (createdAt: number) => decideAfter([created(1, 'A', createdAt)], 'B', key('other'));
    expect(at(NOW - IDEMPOTENCY_TTL_MS + 1).refusal).toBeInstanceOf(Unprocessable);
    expect(at(NOW - IDEMPOTENCY_TTL_MS)).toMatchObject({ groupId: 2 });
  });
});
