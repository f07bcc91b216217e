import type { Generated } from 'kysely';
import type { RowsByTable } from '../erasures/organization-rows.js';

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
