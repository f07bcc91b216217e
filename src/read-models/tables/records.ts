import type { Generated } from 'kysely';
import { OWN_ROWS, type RowsByTable } from '../organization-rows.js';

/** The outcome of a takedown. The numbers are stored in tables, so they must not change. */
export const OUTCOME = {
  /** Any other status, including statuses that upstream may add later. */
  open: 0,
  completed: 1,
  canceled: 2,
  retracted: 3,
} as const;

/** The newest states of records, from which lists, the feed and TAXII are computed. */
export interface RegisterTables {
  /**
   * One row for each record and each organization that the record concerns, including deleted records. Reports, threats
   * and takedowns are last-writer-wins rows; verdicts are derived from `entries`, and disputes from `disputes`.
   */
  register: {
    /** A UUIDv5 of organization, kind and id, which is also that of the record's object in TAXII. */
    record: string;
    organization: string;
    /** As in `listed-items.ts`. */
    kind: number;
    id: string;
    version: number;
    /** The event of the state. Together with the version, it decides which of two states is newer. */
    event_id: string;
    /** Position in the log of the event that last changed the row. The feed is in this order. */
    position: number;
    /** The event at the position, if it is not the event of the state: after a redaction, `ContentRedacted`. */
    moved_by: string | null;
    /** When the log stored the event at the position. ms */
    stored_at: number;
    /** `stored_at`, but ascending with `position` even if a clock was set back (`register-clock.ts`). */
    added_at: number;
    /** When the log stored the first event of the record, as `added_at`. Null for disputes. */
    first_added_at: number | null;
    /** Whether any state of the record has counted as a blocked threat. Only then, TAXII has an object of it. */
    has_counted: boolean;
    /** ms. This and the following columns are null if the record was deleted or no longer concerns the organization. */
    created_at: number | null;
    /** Null for reports, which have neither a status nor an asset. */
    status: string | null;
    type: string | null;
    /** The hash of the asset's normalised key. Null also after a redaction. */
    asset: string | null;
    content: string | null;
    /** In the order of the item. Null for threats and disputes. */
    brands: string[] | null;
    /** The item of a dispute as JSON. The items of other records are computed from the columns (`item.ts`). */
    item: string | null;
    /** From when on the entry of a verdict does not determine the status of its asset any more (ms). Null: never. */
    expires_at: number | null;
  };
  /** The brands of the records in the register, with the columns for filters. Deleted records have none. */
  register_brands: {
    record: string;
    organization: string;
    kind: number;
    id: string;
    brand: string;
    /**
     * The instant at which the metrics of the brand count the record (ms): the last change of a takedown, otherwise the
     * creation.
     */
    at: number;
    status: string | null;
    type: string | null;
    asset: string | null;
  };
  /** The last millisecond in which the log stored an event. At most one row. */
  register_clock: {
    singleton: boolean;
    /** The position of its first event. */
    position: number;
    /** ms, by the clock of the log */
    recorded_at: number;
    added_at: number;
  };
  /** One last-writer-wins row per entry of the status history, including deleted entries. */
  entries: {
    change_id: string;
    version: number;
    event_id: string;
    /** All organizations that have or had a verdict from this entry. */
    organizations: string[];
    /**
     * The place of the entry's only state, as in `register`, which has the contents of the state. Null: the entry has a
     * history.
     */
    position: number | null;
    /** ms */
    stored_at: number | null;
    added_at: number | null;
    /** What the verdicts of the entry are computed from (`EntryHistory` in `entry-history.ts`). Null: its only state. */
    history: unknown;
  };
}

/**
 * The history of an entry without an organization, in SQL; null if there is no history. A state that named no other
 * organization says nothing of its asset.
 */
const withoutRowsOf = (history: string, organization: string): string =>
  `jsonb_set(${history} #- array['before', 'rows', ${organization}], '{changes}', (
    select coalesce(jsonb_agg(
      case when rest -> 'views' = '{}' then rest - array['assetHash', 'content'] else rest end order by n), '[]')
    from jsonb_array_elements(${history} -> 'changes') with ordinality c (change, n),
      lateral (select change #- array['views', ${organization}] as rest) r
  ))`;

export const ROWS_OF_REGISTER: RowsByTable<RegisterTables> = {
  register: OWN_ROWS,
  register_brands: OWN_ROWS,
  register_clock: [],
  entries: [
    {
      where: ':organization = any(organizations)',
      set: `organizations = array_remove(organizations, :organization), history = ${withoutRowsOf('history', ':organization')}`,
    },
  ],
};

/** Disputes about verdicts. */
export interface DisputeTables {
  /**
   * One row per dispute, written by the projection `register`. If a resolution or a redaction is stored before the
   * dispute, the columns of the dispute are null until the dispute arrives.
   */
  disputes: {
    organization: string;
    id: string;
    /** The hash of the disputed asset's normalised key. */
    asset: string | null;
    /** ms */
    created_at: number | null;
    /** ms. Null: the dispute is open. */
    resolved_at: number | null;
    /** ACCEPTED or REJECTED. */
    outcome: string | null;
    /** Hash of the `Idempotency-Key` of the request that filed the dispute. */
    request_key_hash: string | null;
    /** Revision of `DisputeFiled` in the stream `disputes-{organization}`. */
    revision: number | null;
    /** `DisputeFiled` as JSON: `eventId`, `position`, `recordedAt` and `data`. */
    filed: string | null;
    /** The newest `DisputeResolved` in the same form. */
    resolution: string | null;
    /** The last `ContentRedacted` as JSON: `position` and `recordedAt`. */
    redaction: string | null;
  };
  /** Whom to ask about a dispute. The log does not contain the contacts, so that they can be erased. */
  'service.dispute_contacts': {
    organization: string;
    dispute: string;
    contact: string;
    /** ms */
    stored_at: number;
  };
}

export const ROWS_OF_DISPUTES: RowsByTable<DisputeTables> = {
  disputes: OWN_ROWS,
  'service.dispute_contacts': OWN_ROWS,
};

/** The tables of the metrics and of the takedown statistics. */
export interface MetricsTables {
  /** One last-writer-wins row per record, including deleted records. */
  records: {
    organization: string;
    kind: string;
    id: string;
    version: number;
    event_id: string;
    /** The facts that are counted for the newest state. Empty: the state is not counted. */
    counts: unknown;
    /** Position in the log of the event of the state. */
    position: Generated<number>;
    /** Organizations that the state concerns although it has no facts of theirs. Null: none. */
    named: string[] | null;
  };
  /**
   * The states of a record that were newer than all states stored before them, except the newest one, which is in
   * `records`.
   */
  former_states: {
    organization: string;
    kind: string;
    id: string;
    position: number;
    version: number;
    event_id: string;
    counts: unknown;
    named: string[] | null;
  };
  /** One row per counted fact. `brand` is '' for the organization as a whole. */
  facts: {
    organization: string;
    brand: string;
    /** ms */
    at: number;
    measure: number;
    type: string;
    record: string;
    /** Position in the log of the event with which the fact began to count, without a break until now. */
    since: Generated<number>;
    /** How many days after its own day the fact was stored, as a class: see `lagOf`. */
    lag: Generated<number>;
  };
  /** Facts that counted for events at the positions from `since` to the one before `until`, and do not count any more. */
  former_facts: {
    organization: string;
    brand: string;
    /** ms */
    at: number;
    measure: number;
    type: string;
    record: string;
    since: number;
    until: number;
    /** The number of hexadecimal digits of `until` less `since`. */
    span: number;
  };
  /** The first event of each millisecond that is later than the time of every event before it. */
  log_clock: {
    position: number;
    /** ms, by the clock of the log */
    recorded_at: number;
  };
  /** Number of facts per UTC day. */
  days: {
    organization: string;
    brand: string;
    measure: number;
    day: number;
    n: number;
  };
  /** Number of threats per asset type and UTC day. */
  type_days: {
    organization: string;
    brand: string;
    day: number;
    type: string;
    n: number;
  };
  /**
   * The threats whose newest state does not count as the threat counted first. All other threats that ever counted are
   * among the facts.
   */
  changed_threats: {
    organization: string;
    id: string;
    /** The earliest instant at which any state of the threat counts, in ms. */
    counted_at: number;
    /** The asset type of that state. */
    type: string;
    /** With what the newest state counts. Null: it does not count, so the threat is a false positive. */
    newest_at: number | null;
    newest_type: string | null;
  };
  /** What to add to `type_days` of organizations, so that each threat counts on the day and as the type of its first counting. */
  changed_threat_days: {
    organization: string;
    day: number;
    type: string;
    /** May be negative. */
    counted: number;
    /** The number of these threats whose newest state does not count. */
    false_positives: number;
  };
  /** One last-writer-wins row per takedown, including deleted takedowns. */
  takedowns: {
    organization: string;
    id: string;
    version: number;
    event_id: string;
    /** '': the takedown has no brand. */
    brand: string;
    type: string;
    /** One of the outcomes above. Null: the takedown is deleted. */
    outcome: number | null;
    /** ms */
    created_at: number | null;
    /** ms. For a completed takedown, this is the completion. */
    updated_at: number | null;
    /** Duration of a completed takedown. ms */
    took: number | null;
  };
}

/** Entries of the asset status history belong to no organization. Their facts do. */
const ROWS_OF_STATES = [
  ...OWN_ROWS,
  {
    where: `organization = '' and (strpos(counts::text, '[' || to_json(:organization) || ',') > 0 or :organization = any(named))`,
    set: `named = nullif(array_remove(named, :organization), '{}'), counts = (
        select '[' || coalesce(string_agg(fact.value::text, ',' order by fact.ordinality), '') || ']'
        from json_array_elements(counts) with ordinality fact where fact.value ->> 0 <> :organization
      )::json`,
  },
];

export const ROWS_OF_METRICS: RowsByTable<MetricsTables> = {
  records: ROWS_OF_STATES,
  former_states: ROWS_OF_STATES,
  facts: OWN_ROWS,
  former_facts: OWN_ROWS,
  log_clock: [],
  days: OWN_ROWS,
  type_days: OWN_ROWS,
  changed_threats: OWN_ROWS,
  changed_threat_days: OWN_ROWS,
  takedowns: OWN_ROWS,
};
