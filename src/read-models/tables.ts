import type { Generated } from 'kysely';

/** The read models. Only projections write them; all can be dropped and counted anew from the log. */
export interface Tables {
  checkpoints: CheckpointsTable;
  parked_events: ParkedEventsTable;
  projector_lease: ProjectorLeaseTable;
  records: RecordsTable;
  facts: FactsTable;
  days: DaysTable;
  brands: BrandsTable;
  feature_flags: FeatureFlagsTable;
}

/** How far each projection has read the log. */
export interface CheckpointsTable {
  projection: string;
  log_id: string;
  position: number;
  /** Everything answered at the door before this instant (ms) is in the rows. */
  as_of: number;
}

/** Events that a projection could not apply, kept until an operator retries or drops them. */
export interface ParkedEventsTable {
  projection: string;
  event_id: string;
  position: number;
  stream: string;
  type: string;
  data: unknown;
  metadata: unknown;
  reason: string;
  attempts: Generated<number>;
  /** ms */
  parked_at: number;
}

/** Which projector works. One row. */
export interface ProjectorLeaseTable {
  only: Generated<boolean>;
  owner: string;
  epoch: number;
  /** ms, the database's clock */
  expires_at: number;
}

/** One register a record, deleted ones included: the newest state seen and what it counts as. */
export interface RecordsTable {
  organization: string;
  kind: string;
  id: string;
  version: number;
  event_id: string;
  /** The facts it counts as now; [] = nothing. */
  counts: unknown;
}

/** What is counted, one row each. `brand` '' = the organization as a whole. */
export interface FactsTable {
  organization: string;
  brand: string;
  /** ms */
  at: number;
  measure: number;
  type: string;
  record: string;
}

/** Facts by UTC day. */
export interface DaysTable {
  organization: string;
  brand: string;
  day: number;
  measure: number;
  type: string;
  n: number;
}

/** Brands, removed ones included. */
export interface BrandsTable {
  organization: string;
  brand: string;
  name: string | null;
  registered: boolean;
  version: number;
  event_id: string;
}

export interface FeatureFlagsTable {
  organization: string;
  flag: string;
  enabled: boolean;
  version: number;
  event_id: string;
}
