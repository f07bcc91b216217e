import { MAX_NAME_LENGTH } from '../../assets/location.js';
import { parentPages } from '../../assets/location-asset.js';
import { urlKey, type ParsedContent } from '../../assets/asset.js';
import { parentHashes } from '../lists/host-table.js';
import type { HostingSuffixes } from '../lists/hosting-suffixes.js';
import { hostingResult, NOT_FOUND, type SourceResult } from '../verdict.js';
import type { StatusTable } from './status-table.js';

const NO_KEYS: readonly string[] = [];

/** Finds the statuses that apply to a content at an instant. */
export class StatusReading {
  private earliest = Number.POSITIVE_INFINITY;

  constructor(
    private readonly statuses: StatusTable,
    private readonly suffixes: HostingSuffixes,
    /** ms */
    private readonly now: number,
  ) {}

  /**
   * The instant at which the first status that was read expires, in ms; undefined if none does. Until then, every status
   * that was read is the same, and so is the result.
   */
  get validUntil(): number | undefined {
    return this.earliest === Number.POSITIVE_INFINITY ? undefined : this.earliest;
  }

  resultOf(parsed: ParsedContent): SourceResult {
    const { keys, blockingKeys = NO_KEYS } = parsed;
    for (const key of blockingKeys) {
      const status = this.statusOf(key);
      if (status?.status === 'BLOCKED') return status;
    }
    for (let index = 0; index < keys.length; index += 1) {
      const status = this.statusOf(keys[index]!);
      if (status === undefined) continue;
      // The status of a parent page takes precedence over the status of the host, which is less specific.
      const isHost = index > 0 && keys[index]!.startsWith('URL:');
      return (isHost ? this.resultOfParentPage(parsed) : undefined) ?? status;
    }
    return this.resultOfParentPage(parsed) ?? this.resultOfHost(parsed);
  }

  private statusOf(key: string): SourceResult | undefined {
    const status = this.statuses.get(key, this.now);
    if (status?.expiresAt !== undefined) this.earliest = Math.min(this.earliest, status.expiresAt);
    return status?.status === 'UNKNOWN' ? undefined : status;
  }

  /** Below a page or a profile, only BLOCKED is inherited, because others may publish there. */
  private resultOfParentPage(parsed: ParsedContent): SourceResult | undefined {
    for (const { key, matchedLength } of parentPages(parsed)) {
      const status = this.statusOf(key);
      if (status?.status === 'BLOCKED') return inherited(status, matchedLength);
    }
    return undefined;
  }

  private resultOfHost({ host, isDnsName, isSharedHost, isOnHost }: ParsedContent): SourceResult {
    if (host === undefined) return NOT_FOUND;
    if (isSharedHost) {
      const hostStatus = this.statusOf(urlKey(host)) ?? this.nearestParent(host)?.status;
      return hostStatus === undefined ? NOT_FOUND : hostingResult(hostStatus.match);
    }
    if (!isDnsName) return NOT_FOUND;
    const status = isOnHost ? this.statusOf(urlKey(host)) : undefined;
    const parent = status === undefined ? this.nearestParent(host) : { status, matchedLength: host.length };
    if (parent === undefined) return NOT_FOUND;
    const boundary = this.suffixes.boundaryOf(host);
    if (parent.matchedLength > boundary.suffix.length) return inherited(parent.status, parent.matchedLength);
    // Names under the same public or hosting suffix belong to different people, so they do not inherit the status of
    // the suffix.
    return boundary.owner === 'hosting' && !this.suffixes.isRegistrySuffix(host.slice(-parent.matchedLength))
      ? hostingResult(parent.status.match)
      : NOT_FOUND;
  }

  /** Returns the nearest parent domain with a status, and the length of that domain. */
  private nearestParent(host: string): { readonly status: SourceResult; readonly matchedLength: number } | undefined {
    // Names longer than `MAX_NAME_LENGTH` are not DNS names. The limit keeps the loop short for hosts with thousands of
    // labels.
    const parents = parentHashes(host, host.length - MAX_NAME_LENGTH - 2, urlKey(''));
    for (const { start, hash } of parents.reverse()) {
      if (!this.statuses.mayHave(hash)) continue;
      const status = this.statusOf(urlKey(host.slice(start)));
      if (status !== undefined) return { status, matchedLength: host.length - start };
    }
    return undefined;
  }
}

const inherited = (result: SourceResult, matchedLength: number): SourceResult => ({
  ...result,
  reason: 'parent-domain',
  matchedLength,
});
