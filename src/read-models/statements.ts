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
