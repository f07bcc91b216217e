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
