import type { Generated } from 'kysely';

/** How far each projection is, what it could not apply, and who works. */
export interface ProjectingTables {
  /** How far each projection has read the log. */
  checkpoints: {
    projection: string;
    log_id: string;
    position: number;
    /** Everything acknowledged before this instant (ms) is in the rows. */
    as_of: number;
    /** Events of a type that this version does not know, passed over. */
    unknown: Generated<number>;
    /** The event at `position`, if there was one yet. */
    last_stream: string | null;
    last_revision: number | null;
    last_event_id: string | null;
    /** Of the rules by which the rows were made. */
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
    /** When the log took it, ms. Null: parked by a version that did not keep it. */
    recorded_at: number | null;
    /** Whose record it is about. Null: of no single organization, or nobody can tell. */
    organization: string | null;
    /** The key that sent it. Null: the log does not say. */
    key_id: string | null;
    /** Whether the event itself is at fault, so that the reason is for its sender. Null: nobody noted it. */
    unreadable: boolean | null;
    /** Of an event about an entry of the asset status history: the entry's id. Null: the event is about something else. */
    change_id: string | null;
    /** Of an event about an entry: the organizations that its reviews name. Null: not known, or about something else. */
    organizations: string[] | null;
  };
  /** Which projector works in each lane. */
  projector_leases: {
    lane: string;
    owner: string;
    epoch: number;
    /** ms, the database's clock */
    expires_at: number;
    /** Until then another projector, which has no lane, waits for this one. ms, the database's clock */
    wanted_until: Generated<number>;
  };
}
