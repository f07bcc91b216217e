import { OWN_ROWS, type RowsByTable } from '../erasures/organization-rows.js';

/** The brands and feature flags of organizations. */
export interface OrganizationTables {
  /** Brands, including removed brands. */
  brands: {
    organization: string;
    brand: string;
    name: string | null;
    registered: boolean;
    version: number;
    event_id: string;
  };
  feature_flags: {
    organization: string;
    flag: string;
    enabled: boolean;
    version: number;
    event_id: string;
  };
}

export const ROWS_OF_ORGANIZATIONS: RowsByTable<OrganizationTables> = { brands: OWN_ROWS, feature_flags: OWN_ROWS };
