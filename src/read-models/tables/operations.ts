import type { Generated } from 'kysely';
import { OWN_ROWS, rowsOfNames, type RowsByTable } from '../organization-rows.js';

/** Usage by requests, and rejected events. The log contains neither the usage nor the rejected events. */
export interface RequestTables {
  /** Events and bytes that organizations have sent with their own ingest keys, per UTC day. */
  'service.ingest_usage': {
    /** Days since 1970. */
    day: number;
    organization: string;
    events: number;
    bytes: number;
  };
  /** When each key was last used successfully. */
  'service.key_uses': {
    key_id: string;
    /** ms */
    last_used_at: number;
  };
  /** Number of events per owner (an organization, or a key without an organization), UTC day, type and outcome. */
  'service.event_usage': {
    owner: string;
    /** Days since 1970. */
    day: number;
    /** An upstream type, or `other`. */
    type: string;
    outcome: string;
    events: number;
  };
  /**
   * Number of rejected events per owner (an organization, or a key without an organization), UTC day, key, reason and
   * type.
   */
  'service.rejections': {
    owner: string;
    /** Days since 1970. */
    day: number;
    key_id: string;
    reason: string;
    /** An upstream type, or `other`. */
    type: string;
    count: number;
    /** ms */
    last_at: number;
    /** The first rejected event. */
    sample: unknown;
  };
}

const OWNED_ROWS = [{ where: 'owner = :organization' }];

export const ROWS_OF_REQUESTS: RowsByTable<RequestTables> = {
  'service.ingest_usage': OWN_ROWS,
  'service.key_uses': rowsOfNames('key_id'),
  'service.event_usage': OWNED_ROWS,
  'service.rejections': [
    { where: 'owner = :organization or service.is_erased(key_id)' },
    // A rejected event of another sender that names the organization.
    {
      where: `strpos(sample ->> 'data', to_json(:organization)::text) > 0`,
      set: `sample = json_build_object(
        'id', null, 'source', '', 'type', sample -> 'type', 'issues', '[]'::json, 'data', null)`,
    },
  ],
};

/** Which names were erased, and the progress of erasures. Neither table contains a name. */
export interface ErasureTables {
  /** Digests of the slugs, keys and webhook endpoints of erased organizations, as `erasureDigest` returns them. */
  'service.erased_names': {
    digest: string;
    log_id: string;
  };
  /** The erasures that have not finished. */
  'service.erasures': {
    /** The digest of the slug. */
    digest: string;
    /** ms */
    started_at: number;
    /** The position of `OrganizationErasureStarted`. No later event is about the organization. */
    position: number;
    /** The first position whose event has not been rewritten yet. */
    next: number;
    /** Number of rewritten events by type. */
    events: Generated<unknown>;
    /** Number of deleted or changed rows by table. */
    rows: Generated<unknown>;
    first_position: number | null;
    last_position: number | null;
  };
}

export const ROWS_OF_ERASURES: RowsByTable<ErasureTables> = { 'service.erased_names': [], 'service.erasures': [] };

/** What the clocks of the log and of the database said about an event. */
export interface ClockTables {
  /**
   * The events that the log stored with a time ahead of the database's clock. The read models and every rebuild use
   * `seen_at` instead, so the rows outlive the read models.
   */
  'service.bounded_times': {
    position: number;
    /** When a projector first read the event, in ms by the database's clock. */
    seen_at: number;
  };
}

export const ROWS_OF_CLOCKS: RowsByTable<ClockTables> = { 'service.bounded_times': [] };
