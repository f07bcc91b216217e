/** What requests leave behind. The log does not hold it. */
export interface RequestTables {
  /** What organizations have sent with their own ingest keys, by UTC day. */
  'service.ingest_usage': {
    /** Days since 1970. */
    day: number;
    organization: string;
    events: number;
    bytes: number;
  };
  /** When each key was last good for a request. */
  'service.key_uses': {
    key_id: string;
    /** ms */
    last_used_at: number;
  };
  /** What became of the events that each organization, or key without one, has sent, by UTC day. */
  'service.event_usage': {
    owner: string;
    /** Days since 1970. */
    day: number;
    /** An upstream type, or `other`. */
    type: string;
    outcome: string;
    events: number;
  };
  /** Events that were rejected, by organization or key without one, UTC day, key, reason and type. */
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
    /** The first of them. */
    sample: unknown;
  };
}
