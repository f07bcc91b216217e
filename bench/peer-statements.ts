/** The indexed query of G2. The service and the peer both run it. */
export const FIND_BRAND = {
  name: 'bench-find-brand',
  text: 'select name from read.brands where organization = $1 and brand = $2',
};

export const FIND_GROUP = {
  name: 'peer-find-group',
  text: `
    select g.group_id as id, g.name, coalesce(c.n, 0) as "assetCount"
    from read.asset_groups g left join read.asset_group_counts c using (organization, group_id)
    where g.organization = $1 and g.group_id = $2 and g.name is not null`,
};

export const LIST_MEMBERS = {
  name: 'peer-list-members',
  text: `
    select type, content, version from read.grouped_assets
    where organization = $1 and group_id = $2 order by asset limit 100`,
};

export const LIST_GROUPS = {
  name: 'peer-list-groups',
  text: `
    select g.group_id as id, g.name, coalesce(c.n, 0) as "assetCount"
    from read.asset_groups g left join read.asset_group_counts c using (organization, group_id)
    where g.organization = $1 and g.name is not null
    order by g.group_id`,
};
