import { hasReviewOf, withoutReviewsOf } from '../../postgres/reviews.js';
import type { RowsByTable } from '../organization-rows.js';
import type { Generated } from 'kysely';

/** The checkpoints, parked events and leases of projections. */
export interface ProjectingTables {
  /** The progress of each projection. */
  checkpoints: {
    projection: string;
    log_id: string;
    position: number;
    /** The rows include everything that was acknowledged before this instant (ms). */
    as_of: number;
    /** Number of events that were skipped because their type is unknown. */
    unknown: Generated<number>;
    /** The event at `position`. Null: no event has been applied yet. */
    last_stream: string | null;
    last_revision: number | null;
    last_event_id: string | null;
    /** When the projection last applied an event, in ms by the database's clock. Null: never, or by version 2.1. */
    applied_at: number | null;
    /** Version of the projection that wrote the rows. */
    version: Generated<number>;
  };
  /** Events that a projection could not apply, kept until an operator retries or drops them. */
  parked_events: {
    projection: string;
    event_id: string;
    position: number;
    stream: string;
    revision: number;
    type: string;
    data: unknown;
    metadata: unknown;
    reason: string;
    attempts: Generated<number>;
    /** ms */
    parked_at: number;
    /** When the log stored the event (ms). Null: the event was parked by a version that did not store this time. */
    recorded_at: number | null;
    /**
     * The organization of the record. Null: the organization is unknown, or the record concerns more than one
     * organization.
     */
    organization: string | null;
    /** The key that sent the event. Null: the key is unknown. */
    key_id: string | null;
    /**
     * Whether the event is invalid, so that its sender may see the reason. Null: the event was parked by a version that
     * did not store this value.
     */
    unreadable: boolean | null;
    /** Unused. Version 2.2 writes and reads this column. */
    change_id: string | null;
    /** Version 2.2 wrote the organizations in the reviews of an entry, and reads them. Null: a later version, or none. */
    organizations: string[] | null;
  };
  /** The projector that works in each lane. */
  projector_leases: {
    lane: string;
    owner: string;
    epoch: number;
    /** ms, by the database's clock */
    expires_at: number;
    /** Until this instant, another projector without a lane waits for this lane. ms, by the database's clock */
    wanted_until: Generated<number>;
  };
}

const isStreamOf = (stream: string): string => `
  (strpos(${stream}, '-') > 0 and split_part(${stream}, '-', 1) not in ('assetStatus', 'erased')
    and split_part(substr(${stream}, strpos(${stream}, '-') + 1), ':', 1) = :organization)`;

export const ROWS_OF_PROJECTING: RowsByTable<ProjectingTables> = {
  checkpoints: [{ where: isStreamOf('last_stream'), set: `last_stream = 'erased-' || position, last_revision = 0` }],
  parked_events: [
    { where: `organization = :organization or service.is_erased(key_id) or ${isStreamOf('stream')}` },
    {
      where: `(:organization = any(organizations) or ${hasReviewOf('data', ':organization')})`,
      set: `organizations = array_remove(organizations, :organization), data = ${withoutReviewsOf('data', ':organization')}`,
    },
  ],
  projector_leases: [],
};
