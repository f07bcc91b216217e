import { OWN_ROWS, type RowsByTable } from '../erasures/organization-rows.js';

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
  /** One last-writer-wins row per takedown, including deleted takedowns. */
  takedowns: {
    organization: string;
    id: string;
    version: number;
    event_id: string;
    /** '': the takedown has no brand. */
    brand: string;
    type: string;
    /** As in `takedown-outcome.ts`. Null: the takedown is deleted. */
    outcome: number | null;
    /** ms */
    created_at: number | null;
    /** ms. For a completed takedown, this is the completion. */
    updated_at: number | null;
    /** Duration of a completed takedown. ms */
    took: number | null;
  };
}

export const ROWS_OF_METRICS: RowsByTable<MetricsTables> = {
  records: [
    ...OWN_ROWS,
    // Entries of the asset status history belong to no organization. Their facts do.
    {
      where: `organization = '' and strpos(counts::text, '[' || to_json($1::text) || ',') > 0`,
      set: `counts = (
        select '[' || coalesce(string_agg(fact.value::text, ',' order by fact.ordinality), '') || ']'
        from json_array_elements(counts) with ordinality fact where fact.value ->> 0 <> $1::text
      )::json`,
    },
  ],
  facts: OWN_ROWS,
  days: OWN_ROWS,
  type_days: OWN_ROWS,
  takedowns: OWN_ROWS,
};
