import { CLOCK } from '../../postgres/statements.js';
import { statement } from '../../postgres/statement.js';

/** How long a projector that has a lane already leaves another one that is free to one that wants it and has none. ms */
const LEFT_FREE_MS = 1_500;

/**
 * Takes a lane's lease if it is free or expired, or renews it; a projector that has no lane says that it wants one.
 */
export const TAKE_LEASE = statement(
  'lease-take',
  {
    lane: 'text',
    owner: 'text',
    holdsMs: 'bigint',
    /** Whether the owner has another lane. */
    hasOther: 'boolean',
  },
  {
    isHeld: 'boolean',
    /** Grows each time that another owner takes it. */
    epoch: 'bigint',
    /** Whether a projector that has no lane waits for this one. */
    isWanted: 'boolean',
  },
  `
    insert into read.projector_leases as l (lane, owner, epoch, expires_at) values ($1, $2, 1, ${CLOCK} + $3::bigint)
    on conflict (lane) do update
      set (owner, epoch, expires_at, wanted_until) = (
        select
          case when taken then excluded.owner else l.owner end,
          case when taken and l.owner <> excluded.owner then l.epoch + 1 else l.epoch end,
          case when taken then excluded.expires_at else l.expires_at end,
          case
            when taken and l.owner <> excluded.owner then 0
            when taken or $4 then l.wanted_until
            else excluded.expires_at
          end
        from (
          select l.owner = excluded.owner
            or l.expires_at < ${CLOCK} - case when $4 and l.wanted_until > ${CLOCK} then ${LEFT_FREE_MS} else 0 end as taken
        ) decided
      )
    returning owner = $2 as "isHeld", epoch, wanted_until > ${CLOCK} as "isWanted"`,
);

/** Ends a lane's lease now. It has no owner then: the one that gave it up must not take it back as if to renew it. */
export const RELEASE_LEASE = statement(
  'lease-release',
  { lane: 'text', owner: 'text' },
  {},
  `
    update read.projector_leases set expires_at = ${CLOCK}, owner = '' where lane = $1 and owner = $2`,
);
