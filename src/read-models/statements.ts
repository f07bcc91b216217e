import { CLOCK } from '../postgres/statements.js';
import { statement } from '../postgres/statement.js';

/**
 * The checkpoint of each projection. The rows that the projection has written include everything that was acknowledged
 * before `asOf` (ms, by the database's clock).
 */
export const READ_CHECKPOINTS = statement(
  'checkpoints-read',
  {},
  { projection: 'text', position: 'bigint', asOf: 'bigint' },
  'select projection, position, as_of as "asOf" from read.checkpoints',
);

/**
 * Adds events and bytes to the usage of organizations on a day, and returns the new totals. Adding zero leaves the
 * totals as they are.
 */
export const ADD_INGEST_USAGE = statement(
  'ingest-usage-add',
  { day: 'integer', organization: 'text[]', events: 'bigint[]', bytes: 'bigint[]' },
  { organization: 'text', events: 'bigint', bytes: 'bigint' },
  `
    insert into service.ingest_usage as u (day, organization, events, bytes)
    select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[]) i (organization, events, bytes) order by organization
    on conflict (day, organization) do update
      set events = greatest(u.events + excluded.events, 0), bytes = greatest(u.bytes + excluded.bytes, 0)
    returning organization, events, bytes`,
);

/** Deletes the usage of all days before yesterday. */
export const DELETE_OLD_INGEST_USAGE = statement(
  'ingest-usage-forget',
  {},
  {},
  `delete from service.ingest_usage where day < ${CLOCK} / 86400000 - 1`,
);

/** Stores when keys were last used, unless a later use is stored. */
export const STORE_KEY_USES = statement(
  'key-uses-note',
  { keyId: 'text[]', lastUsedAt: 'bigint[]' },
  {},
  `
    insert into service.key_uses as k (key_id, last_used_at)
    select * from unnest($1::text[], $2::bigint[]) u (key_id, last_used_at) order by key_id
    on conflict (key_id) do update set last_used_at = greatest(k.last_used_at, excluded.last_used_at)`,
);

export const ADD_EVENT_USAGE = statement(
  'event-usage-add',
  { owner: 'text[]', day: 'integer[]', type: 'text[]', outcome: 'text[]', events: 'bigint[]' },
  {},
  `
    insert into service.event_usage as u (owner, day, type, outcome, events)
    select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::bigint[])
      as i (owner, day, type, outcome, events) order by owner, day, type, outcome
    on conflict (owner, day, type, outcome) do update set events = u.events + excluded.events`,
);

/** Keeps the last `keptDays` days, the last of which is today, and deletes the rows of all earlier days. */
export const DELETE_OLD_EVENT_USAGE = statement(
  'event-usage-forget',
  { keptDays: 'integer' },
  {},
  `delete from service.event_usage where day <= ${CLOCK} / 86400000 - $1::integer`,
);

export const ADD_REJECTIONS = statement(
  'rejections-add',
  {
    owner: 'text[]',
    day: 'integer[]',
    keyId: 'text[]',
    reason: 'text[]',
    type: 'text[]',
    count: 'bigint[]',
    lastAt: 'bigint[]',
    sample: 'json[]',
  },
  {},
  `
    insert into service.rejections as r (owner, day, key_id, reason, type, count, last_at, sample)
    select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::json[])
      as i (owner, day, key_id, reason, type, count, last_at, sample) order by owner, day, key_id, reason, type
    on conflict (owner, day, key_id, reason, type) do update
      set count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`,
);

/**
 * Keeps `keptRows` rows. Every owner keeps the same number of newest rows, or all of its rows if it has fewer, so that
 * the rejections of one owner cannot displace those of another.
 */
export const DELETE_EXCESS_REJECTIONS = statement(
  'rejections-forget',
  { keptRows: 'integer' },
  {},
  `
    delete from service.rejections where ctid = any(array(
      select id from (
        select ctid as id, day, last_at, row_number() over (partition by owner order by day desc, last_at desc) as place
        from service.rejections where (select count(*) from service.rejections) > $1::integer
      ) r order by place, day desc, last_at desc offset $1::integer
    ))`,
);

/** Requests a test from the delivery process, and deletes expired tests. */
export const ADD_WEBHOOK_TEST = statement(
  'webhook-tests-add',
  { id: 'uuid', organization: 'text', webhookId: 'text', keptMs: 'bigint' },
  {},
  `
    with forgotten as (delete from service.webhook_tests where requested_at < ${CLOCK} - $4::bigint)
    insert into service.webhook_tests (id, organization, endpoint, requested_at) values ($1, $2, $3, ${CLOCK})`,
);

export const DELETE_WEBHOOK_TEST = statement(
  'webhook-tests-delete',
  { id: 'uuid' },
  {},
  `delete from service.webhook_tests where id = $1`,
);

const MS_PER_DAY = 86_400_000;
const MS_PER_HOUR = 3_600_000;

export const STORE_DISPUTE_CONTACT = statement(
  'dispute-contacts-store',
  { organization: 'text', dispute: 'text', contact: 'text' },
  {},
  `
    insert into service.dispute_contacts (organization, dispute, contact, stored_at) values ($1, $2, $3, ${CLOCK})
    on conflict do nothing`,
);

/**
 * Erases the contacts of disputes that were resolved `keptDays` ago, and the contacts of requests that filed no dispute.
 * A contact is stored before its dispute, so a dispute is missing only if the read model includes everything from an
 * hour after the contact was stored.
 */
export const ERASE_DISPUTE_CONTACTS = statement(
  'dispute-contacts-erase',
  { keptDays: 'bigint' },
  {},
  `
    delete from service.dispute_contacts c
    where exists (
      select from read.disputes d
      where d.organization = c.organization and d.id = c.dispute
        and d.resolved_at <= ${CLOCK} - $1::bigint * ${MS_PER_DAY}
    ) or (
      c.stored_at < (select as_of from read.checkpoints where projection = 'records') - ${MS_PER_HOUR}
      and not exists (
        select from read.disputes d
        where d.organization = c.organization and d.id = c.dispute and d.created_at is not null
      )
    )`,
);
