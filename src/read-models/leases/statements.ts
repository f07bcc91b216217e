import { CLOCK } from '../../postgres/statements.js';
import { statement } from '../../postgres/statement.js';

/** How long a projector that already holds a lane waits before it takes a second lane that another projector wants. */
const SECOND_LANE_DELAY_MS = 1_500;

/**
 * Acquires the lease of a lane if it has expired, or renews it. Otherwise, a projector without a lane marks the lease
 * as wanted.
 */
export const ACQUIRE_LEASE = statement(
  'lease-take',
  {
    lane: 'text',
    owner: 'text',
    ttlMs: 'bigint',
    /** Whether the owner holds another lane. */
    hasOther: 'boolean',
  },
  {
    isHeld: 'boolean',
    /** Incremented when another owner acquires the lease. */
    epoch: 'bigint',
    /** Whether a projector without a lane waits for this lane. */
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
            or l.expires_at < ${CLOCK} - case when $4 and l.wanted_until > ${CLOCK} then ${SECOND_LANE_DELAY_MS} else 0 end as taken
        ) decided
      )
    returning owner = $2 as "isHeld", epoch, wanted_until > ${CLOCK} as "isWanted"`,
);

/** Reads whether a projector works in a lane, that is, whether the lease of the lane is valid. */
export const READ_IS_LEASED = statement(
  'lease-read',
  { lane: 'text' },
  { isLeased: 'boolean' },
  `select exists (select from read.projector_leases where lane = $1 and expires_at > ${CLOCK}) as "isLeased"`,
);

/** Expires the lease of a lane, and clears its owner, so that the former owner does not renew it. */
export const RELEASE_LEASE = statement(
  'lease-release',
  { lane: 'text', owner: 'text' },
  {},
  `
    update read.projector_leases set expires_at = ${CLOCK}, owner = '' where lane = $1 and owner = $2`,
);
