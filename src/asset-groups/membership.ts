import { assetHash } from '../assets/asset-key.js';
import type { Asset } from '../assets/asset.js';
import { contentIssue } from '../assets/content-issue.js';
import { parseContent } from '../assets/parse-content.js';
import { type EventOf, parseEvent } from '../events/event.js';
import { LATEST } from '../events/instant.js';

export const MEMBERSHIP_RESULTS = ['added', 'moved', 'removed', 'unchanged', 'error'] as const;
export type MembershipResult = (typeof MEMBERSHIP_RESULTS)[number];
export const MEMBERSHIP_REASONS = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type MembershipReason = (typeof MEMBERSHIP_REASONS)[number];

/** What became of one content. */
export interface MembershipItem {
  readonly result: MembershipResult;
  /** What the content was understood as; absent with `parse-error`. */
  readonly asset?: Asset;
  /** The group it was moved from. */
  readonly movedFrom?: number;
  /** With `error`. */
  readonly reason?: MembershipReason;
  /** With `error`: the same for a person. */
  readonly message?: string;
}

/** A content as it was read: an asset that can be grouped, or why it cannot. */
export type ReadContent =
  { readonly asset: Asset; readonly hash: string; readonly error?: undefined } | { readonly error: MembershipItem };

/** Where an asset is now, by its newest event. */
export interface Placement {
  /** The group it is in, where there is such a group. */
  readonly groupId: number | undefined;
  /** Of the newest event, ms. */
  readonly updatedAt: number;
}

const refusal = (reason: MembershipReason, message: string, asset?: Asset): { readonly error: MembershipItem } => ({
  error: { result: 'error', reason, message, ...(asset && { asset }) },
});

/** Whether the projector will read an event about it: an address can be longer in the form it is kept in. */
const isStorable = (asset: Asset): boolean =>
  parseEvent('AssetUngrouped', { organization: 'any', asset, updatedAt: '1970-01-01T00:00:00Z' }).event !== undefined;

/** Reads a content as the asset check reads it. */
export const readContent = (content: unknown): ReadContent => {
  const issue = contentIssue(content);
  if (issue !== undefined) return refusal('parse-error', issue);
  const { reading, code, internal } = { internal: undefined, ...parseContent(content as string) };
  if (internal)
    return refusal('internal-scheme', 'It is an address of the browser, the machine or a private network', {
      type: internal.type,
      content: internal.name,
    });
  if (code !== undefined) return refusal('parse-error', 'It could not be read as an asset');
  const asset = { type: reading.type, content: reading.name };
  if (!isStorable(asset))
    return refusal('parse-error', 'It could be read, but is too long or has characters that cannot be kept');
  return { asset, hash: assetHash(asset) };
};

/** A change of a group's members, its contents read. */
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
 * What a request changes, one content after the other: a content that repeats an earlier one changes nothing.
 * @param placements by hash, none where an asset was never grouped; brought up to date with the decision
 * @param now ms; an event is dated later than the one before it, whose sender's clock may be ahead
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
      return refusal('internal-error', 'Its newest event is dated at the end of time', asset).error;
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
