import { KIND_NAMES, LISTED_KIND } from '../events/listed-items.js';
import { nullable, statement, textOf } from '../postgres/statement.js';
import { CLOCK } from '../postgres/statements.js';

/** Maximum number of records that are counted for the backlog of an endpoint and a kind. */
const MAX_COUNTED = 100;

const KINDS = KIND_NAMES.map((name) => `(${LISTED_KIND[name]}::smallint, '${name}')`).join(', ');

/** The numbers of endpoints and pending records, for Prometheus, over a page of the endpoints that are not deleted. */
export const READ_WEBHOOK_FIGURES = statement(
  'webhooks-figures',
  { afterOrganization: 'text', afterId: 'text', limit: 'bigint' },
  {
    active: 'bigint',
    failing: 'bigint',
    disabled: 'bigint',
    behind: 'bigint',
    /** Age of the oldest pending record by the database's clock (ms). Null: no record is pending. */
    oldestAge: nullable('bigint'),
    /** The organization and the id of the last endpoint of the page. Null: the page is empty. */
    last: nullable('text[]'),
  },
  `
    with living as materialized (
      select e.organization, e.id, e.endpoint -> 'types' as types, e.state, p.progress ->> 'failingSince' is not null as failing,
        coalesce(p.progress ->> 'position', e.endpoint ->> 'startAfter')::bigint as position
      from read.webhook_endpoints e
      left join service.webhook_progress p on p.endpoint = e.id and p.progress -> 'replay' = e.endpoint -> 'replay'
      where e.state <> 'DELETED' and (e.organization, e.id) > ($1, $2) order by e.organization, e.id limit $3
    ), waiting as (
      select
        (select count(*) from (
          select from read.listed_records r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position limit ${MAX_COUNTED}
        ) counted) as behind,
        (select r.stored_at from read.listed_records r
          where r.organization = l.organization and r.kind = k.kind and r.position > l.position
          order by r.position limit 1) as oldest
      from living l join (values ${KINDS}) k (kind, name)
        on l.types is null or l.types ? k.name
      where l.state = 'ACTIVE'
    )
    select
      (select count(*) from living where state = 'ACTIVE' and not failing) as active,
      (select count(*) from living where state = 'ACTIVE' and failing) as failing,
      (select count(*) from living where state = 'DISABLED') as disabled,
      (select coalesce(sum(behind), 0)::bigint from waiting) as behind,
      (select greatest(0, ${CLOCK} - min(oldest)) from waiting) as "oldestAge",
      (select array[organization, id] from living order by organization desc, id desc limit 1) as last`,
);

/** The numbers of attempts of all endpoints by outcome. */
export const READ_WEBHOOK_ATTEMPTS = statement(
  'webhooks-outcomes',
  {},
  { outcome: textOf<'delivered' | 'refused' | 'unanswered'>(), attempts: 'bigint' },
  `
    select outcome, coalesce(attempts, 0)::bigint as attempts
    from unnest(array['delivered', 'refused', 'unanswered']) o (outcome) left join service.webhook_outcomes using (outcome)`,
);
