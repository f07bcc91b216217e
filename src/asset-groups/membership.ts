import { assetHash, assetOf } from '../assets/asset-key.js';
import { type Asset, contentIssue } from '../assets/asset.js';
import { parseContent } from '../assets/parse-content.js';
import { type EventOf, parseEvent } from '../events/event.js';
import { LATEST } from '../events/instant.js';
import { limit } from '../limits.js';

export const MEMBERSHIP_RESULTS = ['added', 'moved', 'removed', 'unchanged', 'error'] as const;
export type MembershipResult = (typeof MEMBERSHIP_RESULTS)[number];
export const MEMBERSHIP_REASONS = ['parse-error', 'internal-scheme', 'internal-error'] as const;
export type MembershipReason = (typeof MEMBERSHIP_REASONS)[number];

/** Maximum number of contents of one request, and of requests that are decided together. */
export const MAX_CONTENTS = limit('change of group members', 1_000, 'contents', 'request', '400');

/** The result for one content. */
export interface MembershipItem {
  readonly result: MembershipResult;
  /** How the content was parsed; undefined if the content could not be parsed. */
  readonly asset?: Asset;
  /** The previous group of a moved asset. */
  readonly movedFrom?: number;
  /** Why the content was not processed. */
  readonly reason?: MembershipReason;
  readonly message?: string;
}

/** A parsed content: an asset, or the error if the content cannot be grouped. */
export type ReadContent =
  { readonly asset: Asset; readonly hash: string; readonly error?: undefined } | { readonly error: MembershipItem };

/** The current group of an asset according to the asset's newest event. */
export interface Placement {
  /** Undefined if the asset is in no existing group. */
  readonly groupId: number | undefined;
  /** The time of the newest event, in ms. */
  readonly updatedAt: number;
}

const errorItem = (reason: MembershipReason, message: string, asset?: Asset): { readonly error: MembershipItem } => ({
  error: { result: 'error', reason, message, ...(asset && { asset }) },
});

/** Whether the projector would accept an event about the asset: a normalised address can exceed the size limit. */
const isStorable = (asset: Asset): boolean =>
  parseEvent('AssetUngrouped', { organization: 'any', asset, updatedAt: '1970-01-01T00:00:00Z' }).event !== undefined;

/** Parses a content as the asset check does. */
export const readContent = (content: unknown): ReadContent => {
  const issue = contentIssue(content);
  if (issue !== undefined) return errorItem('parse-error', issue);
  const { parsed, code, internalAddress } = parseContent(content as string);
  if (internalAddress)
    return errorItem(
      'internal-scheme',
      'The content is an address that is valid only inside a browser, on the local machine or on a private network',
      {
        type: internalAddress.type,
        content: internalAddress.name,
      },
    );
  if (code !== undefined) return errorItem('parse-error', 'The content could not be parsed as an asset');
  const asset = assetOf(content as string, parsed);
  if (!isStorable(asset))
    return errorItem('parse-error', 'The content is too long, or has characters that cannot be stored');
  return { asset, hash: assetHash(asset) };
};

/** A parsed change of a group's members. */
export interface MembershipRequest {
  readonly action: 'add' | 'remove';
  readonly organization: string;
  readonly groupId: number;
  readonly contents: readonly ReadContent[];
}

/** An event about an asset, and the `assetHash` of the asset. */
interface MembershipEvent {
  readonly event: EventOf<'AssetGrouped' | 'AssetUngrouped'>;
  readonly hash: string;
}

interface MembershipChange {
  readonly items: readonly MembershipItem[];
  readonly events: readonly MembershipEvent[];
}

/**
 * Decides the contents of a request in order. A repeated content changes nothing.
 * @param placements the placements by asset hash; assets that were never in a group are missing. The function updates
 *   the map
 * @param now the current time in ms. Each event is dated after the previous event of the asset, even if the clock of
 *   the previous event's sender is ahead
 */
export const decideMembership = (
  { action, organization, groupId, contents }: MembershipRequest,
  placements: Map<string, Placement>,
  now: number,
): MembershipChange => {
  const events: MembershipEvent[] = [];
  const items = contents.map((content): MembershipItem => {
    if (content.error) return content.error;
    const { asset, hash } = content;
    const current = placements.get(hash);
    const isMember = current?.groupId === groupId;
    if (isMember === (action === 'add')) return { result: 'unchanged', asset };
    const updatedAt = Math.max(now, (current?.updatedAt ?? 0) + 1);
    if (updatedAt > LATEST)
      return errorItem('internal-error', 'The newest event of the asset has the latest possible date', asset).error;
    if (action === 'remove') {
      placements.set(hash, { groupId: undefined, updatedAt });
      events.push({ event: { type: 'AssetUngrouped', data: { organization, asset, updatedAt } }, hash });
      return { result: 'removed', asset };
    }
    placements.set(hash, { groupId, updatedAt });
    events.push({ event: { type: 'AssetGrouped', data: { organization, groupId, asset, updatedAt } }, hash });
    return current?.groupId === undefined
      ? { result: 'added', asset }
      : { result: 'moved', asset, movedFrom: current.groupId };
  });
  return { items, events };
};
