const OF_RECORDS = ['newest', 'by_status', 'by_type', 'by_status_and_type'].map(
  (name) => `read.listed_records_${name}`,
);
const OF_BRANDS = ['newest', 'by_status', 'by_type', 'by_status_and_type'].map((name) => `read.brand_records_${name}`);

/**
 * Adds the index from whose ranges, one for each combination of status and type, every list is merged. The indexes that it
 * replaces stay for processes of version 2.2 until the rebuild after the upgrade. New tables do without them.
 */
export const statements = [
  `create index if not exists listed_records_list on read.listed_records
    (organization, kind, coalesce(status, ''), coalesce(type, ''), (-created_at), id) where created_at is not null`,
  `create index if not exists brand_records_list on read.brand_records
    (organization, kind, brand, coalesce(status, ''), coalesce(type, ''), (-at), id)`,
  `do $$ begin
    if not exists (select from read.checkpoints where projection = 'records') then
      drop index if exists ${[...OF_RECORDS, ...OF_BRANDS].join(', ')};
    end if;
  end $$`,
];
