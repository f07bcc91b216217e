import { Conflict, Unprocessable } from '../errors.js';
import type { Asset } from '../assets/asset.js';
import type { IdempotentRequest } from '../events/event.js';
import type { CheckVerdict, DisputeFiled } from '../events/types/verdicts.js';
import { firstResponse } from '../http/body/validation.js';
import { limit } from '../limits.js';

/** Maximum number of open disputes per organization. */
export const MAX_OPEN = limit('open disputes', 1_000, 'disputes', 'organization', '409');

export type Dispute = DisputeFiled['data'];

export interface FileCommand {
  readonly organization: string;
  readonly disputeId: string;
  /** The asset whose entry decided the verdict; undefined if it cannot be told which of several assets it is. */
  readonly asset: Asset | undefined;
  /** The `assetHash` of the asset. */
  readonly hash: string;
  /** The content as sent. */
  readonly content: string;
  /** The present verdict about the content. */
  readonly verdict: CheckVerdict;
  readonly reason: string | undefined;
  /** Whom to ask. Stored outside of the log. */
  readonly contact: string | undefined;
  /** Present if the client sent an `Idempotency-Key`. */
  readonly request: IdempotentRequest | undefined;
}

/** The part of an organization's disputes that commands need. */
export interface Disputes {
  /** The open disputes, by the hash of the asset. */
  readonly open: Map<string, Dispute>;
  /** The number of all open disputes. */
  openCount: number;
  /** By the hash of the `Idempotency-Key`. */
  readonly byRequest: Map<string, Dispute>;
}

export type Decision =
  | {
      readonly events: readonly DisputeFiled[];
      readonly dispute: Dispute;
      /** Present if this decision repeats the first response to an `Idempotency-Key`. */
      readonly replayed?: true;
      readonly refusal?: undefined;
    }
  | { readonly events: readonly DisputeFiled[]; readonly refusal: Error };

/**
 * Applies a filed dispute.
 * @param hash the `assetHash` of its asset
 * @param isCopy whether the event is the copy that a redaction made of an earlier one, which has been counted
 */
export const evolve = (disputes: Disputes, dispute: Dispute, hash: string, isCopy = false): void => {
  disputes.open.set(hash, dispute);
  if (!isCopy) disputes.openCount += 1;
  if (dispute.idempotencyKeyHash !== undefined) disputes.byRequest.set(dispute.idempotencyKeyHash, dispute);
};

const reject = (refusal: Error): Decision => ({ events: [], refusal });

/** @param now the current time, in ms */
export const decide = (disputes: Disputes, command: FileCommand, now: number): Decision => {
  const { organization, disputeId, asset, hash, content, verdict, reason, request } = command;
  const earlier = request && disputes.byRequest.get(request.idempotencyKeyHash);
  const first = firstResponse(request, [earlier], ({ createdAt }) => createdAt, now);
  if (first instanceof Unprocessable) return reject(first);
  if (first) return { events: [], dispute: first, replayed: true };
  if (verdict.status !== 'BLOCKED')
    return reject(new Unprocessable(`The asset is not blocked, so there is nothing to dispute: ${verdict.message}`));
  if (asset === undefined)
    return reject(
      new Unprocessable(
        'The content opens several assets, and the check does not say which is blocked; dispute one asset',
      ),
    );
  const open = disputes.open.get(hash);
  if (open !== undefined)
    return reject(new Conflict(`The organization has an open dispute about this asset: ${open.disputeId}`));
  if (disputes.openCount >= MAX_OPEN)
    return reject(new Conflict(`An organization has at most ${MAX_OPEN} open disputes; wait until some are resolved`));
  const dispute: Dispute = {
    organization,
    disputeId,
    asset,
    content,
    verdict,
    reason,
    createdAt: now,
    idempotencyKeyHash: request?.idempotencyKeyHash,
    bodyHash: request?.bodyHash,
  };
  return { events: [{ type: 'DisputeFiled', data: dispute }], dispute };
};
