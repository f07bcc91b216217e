import { GROUPS_PER_PAGE } from './assemble-list.js';

/**
 * The state that a set of commands is decided on. Each part is an index lookup, so the cost does not depend on the
 * number of groups.
 */
export const KNOWN_GROUPS = {
  name: 'asset-groups-known',
  text: `
    select s.revision, s.last_group_id,
      (select json_agg(json_build_object('id', g.group_id, 'name', g.name))
       from (
         select group_id, name from read.asset_groups
         where organization = $1 and name = any($2::text[]) and name is not null
         union
         select group_id, name from read.asset_groups
         where organization = $1 and group_id = any($3::bigint[]) and name is not null
       ) g) as groups,
      (select json_agg(json_build_object(
         'keyHash', key_hash, 'bodyHash', body_hash, 'groupId', group_id, 'answeredAt', answered_at))
       from read.asset_group_requests
       where organization = $1 and key_hash = any($4::text[])) as answers,
      (select json_agg(json_build_array(group_id, n))
       from read.asset_group_counts
       where organization = $1 and group_id = any($3::bigint[])) as assets
    from (values ($1::text)) asked (organization) left join read.asset_group_streams s using (organization)`,
};

/** One group; returns a row even if it does not exist. */
export const FIND_GROUP = {
  name: 'asset-groups-find',
  text: `
    select s.revision, g.name, c.n
    from (values ($1::text, $2::bigint)) asked (organization, group_id)
    left join read.asset_group_streams s using (organization)
    left join read.asset_groups g using (organization, group_id)
    left join read.asset_group_counts c using (organization, group_id)`,
};

const STATE = `s.tableoid || ':' || s.xmin as version, s.revision, s.last_group_id`;
const FROM_STATE = `
  from (values ($1::text)) asked (organization) left join read.asset_group_streams s using (organization)`;

/** How far an organization's rows have been projected. */
export const READ_STATE = { name: 'asset-groups-state', text: `select ${STATE} ${FROM_STATE}` };
/** One row per page, its groups already as JSON: no turn of the event loop parses or writes the whole list. */
export const READ_ROWS = {
  name: 'asset-groups-rows',
  text: `
    select ${STATE}, page.last, page.json,
      case when page.number is null or page.number = 0 then (
        select json_agg(json_build_array(c.group_id, c.n)) from read.asset_group_counts c
        where c.organization = $1 and not exists (
          select from read.asset_groups g
          where g.organization = $1 and g.group_id = c.group_id and g.name is not null)
      ) end as assets
    ${FROM_STATE}
    left join lateral (
      select number, max(group_id) as last, string_agg(
        '{"id":' || group_id || ',"name":' || to_json(name) || ',"assetCount":' || n || '}', ',' order by group_id) as json
      from (
        select g.group_id, g.name, coalesce(c.n, 0) as n, (row_number() over (order by g.group_id) - 1) / ${GROUPS_PER_PAGE} as number
        from read.asset_groups g left join read.asset_group_counts c using (organization, group_id)
        where g.organization = $1 and g.name is not null
      ) groups
      group by number
    ) page on true
    order by page.number`,
};
