import { CLOCK } from '../../postgres/statements.js';
import { statement } from '../../postgres/statement.js';

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

/** Parked events of a projection are counted up to this number. */
const MAX_COUNTED_PARKED = 10_000;

/**
 * The checkpoint of each projection and its number of parked events, at most 10,000. `age` is the age of the projection's rows in
 * milliseconds by the database's clock: the rows include everything that was acknowledged longer ago.
 */
export const READ_PROJECTION_CHECKPOINTS = statement(
  'projection-checkpoints',
  {},
  {
    projection: 'text',
    position: 'bigint',
    as_of: 'bigint',
    age: 'bigint',
    unknown: 'bigint',
    version: 'integer',
    parked: 'bigint',
  },
  `
    select projection, position, as_of, greatest(0, ${CLOCK} - as_of) as age, unknown, version,
      (
        select count(*) from (
          select from read.parked_events p where p.projection = c.projection limit ${MAX_COUNTED_PARKED}
        ) counted
      ) as parked
    from read.checkpoints c
    order by projection`,
);
