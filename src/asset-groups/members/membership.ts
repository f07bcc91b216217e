import { assetHash } from '../../assets/asset-key.js';
import type { Asset } from '../../assets/asset.js';
import { contentIssue } from '../../assets/content-issue.js';
import { parseContent } from '../../assets/parse-content.js';
import { type EventOf, parseEvent } from '../../events/event.js';
import { LATEST } from '../../events/instant.js';

export const MEMBERSHIP_RESULTS = ['added', 'moved', 'removed', 'unchanged', 'error'] as const;
export type MembershipResult = (typeof MEMBERSHIP_RESULTS)[number];
export const MEMBERSHIP_REASONS = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type MembershipReason = (typeof MEMBERSHIP_REASONS)[number];

/** Contents of one request, and of requests that are decided together. */
export const MAX_CONTENTS = 1_000;

/** The result for one content. */
export interface MembershipItem {
  readonly result: MembershipResult;
  /** How the content was understood; absent if it could not be read. */
  readonly asset?: Asset;
  /** The group that an asset which was moved was in. */
  readonly movedFrom?: number;
  /** Why it was not processed. */
  readonly reason?: MembershipReason;
  readonly message?: string;
}

/** A parsed content: an asset that can be grouped, or why it cannot. */
export type ReadContent =
  { readonly asset: Asset; readonly hash: string; readonly error?: undefined } | { readonly error: MembershipItem };

/** An asset's current group, by its newest event. */
export interface Placement {
  /** Undefined if it is in no existing group. */
  readonly groupId: number | undefined;
  /** Of the newest event, ms. */
  readonly updatedAt: number;
}

const refusal = (reason: MembershipReason, message: string, asset?: Asset): { readonly error: MembershipItem } => ({
  error: { result: 'error', reason, message, ...(asset && { asset }) },
});

/** Whether the projector would accept an event about it: a normalised address can exceed the limit. */
const isStorable = (asset: Asset): boolean =>
  parseEvent('AssetUngrouped', { organization: 'any', asset, updatedAt: '1970-01-01T00:00:00Z' }).event !== undefined;

/** Parses a content as the asset check does. */
export const readContent = (content: unknown): ReadContent => {
  const issue = contentIssue(content);
  if (issue !== undefined) return refusal('parse-error', issue);
  const { reading, code, internal } = { internal: undefined, ...parseContent(content as string) };
  if (internal)
    return refusal('internal-scheme', 'The content is an address of the browser, the machine or a private network', {
      type: internal.type,
      content: internal.name,
    });
  if (code !== undefined) return refusal('parse-error', 'The content could not be parsed as an asset');
  const asset = { type: reading.type, content: reading.name };
  if (!isStorable(asset))
    return refusal('parse-error', 'The content is too long, or has characters that cannot be stored');
  return { asset, hash: assetHash(asset) };
};

/** A parsed change of a group's members. */
export interface MembershipRequest {
  readonly action: 'add' | 'remove';
  readonly organization: string;
  readonly groupId: number;
  readonly contents: readonly ReadContent[];
}

export interface MembershipChange {
  readonly items: readonly MembershipItem[];
  readonly events: readonly EventOf<'AssetGrouped' | 'AssetUngrouped'>[];
}

/**
 * Decides a request's contents in order: a repeated content changes nothing.
 * @param placements by hash, missing if an asset was never grouped; updated with the decision
 * @param now ms; an event is dated after its predecessor, whose sender's clock may be ahead
 */
export const decideMembership = (
  { action, organization, groupId, contents }: MembershipRequest,
  placements: Map<string, Placement>,
  now: number,
): MembershipChange => {
  const events: EventOf<'AssetGrouped' | 'AssetUngrouped'>[] = [];
  const items = contents.map((content): MembershipItem => {
    if (content.error) return content.error;
    const { asset, hash } = content;
    const before = placements.get(hash);
    const isMember = before?.groupId === groupId;
    if (isMember === (action === 'add')) return { result: 'unchanged', asset };
    const updatedAt = Math.max(now, (before?.updatedAt ?? 0) + 1);
    if (updatedAt > LATEST)
      return refusal('internal-error', 'The newest event of the asset has the latest possible date', asset).error;
    if (action === 'remove') {
      placements.set(hash, { groupId: undefined, updatedAt });
      events.push({ type: 'AssetUngrouped', data: { organization, asset, updatedAt } });
      return { result: 'removed', asset };
    }
    placements.set(hash, { groupId, updatedAt });
    events.push({ type: 'AssetGrouped', data: { organization, groupId, asset, updatedAt } });
    return before?.groupId === undefined
      ? { result: 'added', asset }
      : { result: 'moved', asset, movedFrom: before.groupId };
  });
  return { items, events };
};
