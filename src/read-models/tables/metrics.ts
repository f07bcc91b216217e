/** What the metrics and the takedown statistics are counted from. */
export interface MetricsTables {
  /** One last-writer-wins row per record, deleted ones included: the newest state seen and what it counts as. */
  records: {
    organization: string;
    kind: string;
    id: string;
    version: number;
    event_id: string;
    /** The facts it counts as now; [] = nothing. */
    counts: unknown;
  };
  /** What is counted, one row each. `brand` '' = the organization as a whole. */
  facts: {
    organization: string;
    brand: string;
    /** ms */
    at: number;
    measure: number;
    type: string;
    record: string;
  };
  /** Facts by UTC day. */
  days: {
    organization: string;
    brand: string;
    measure: number;
    day: number;
    n: number;
  };
  /** Threats by asset type and UTC day. */
  type_days: {
    organization: string;
    brand: string;
    day: number;
    type: string;
    n: number;
  };
  /** One last-writer-wins row per takedown, deleted ones included. */
  takedowns: {
    organization: string;
    id: string;
    version: number;
    event_id: string;
    /** '' = none. */
    brand: string;
    type: string;
    /** As in `takedown-outcome.ts`; null: deleted. */
    outcome: number | null;
    /** ms */
    created_at: number | null;
    /** ms; of a completed one, when it was completed. */
    updated_at: number | null;
    /** ms between the two, of a completed one. */
    took: number | null;
  };
}
