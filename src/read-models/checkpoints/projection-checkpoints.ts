import { sql } from 'kysely';
import { CLOCK } from '../../postgres/statements.js';
import { compiled } from '../compiled-statement.js';

/**
 * Where each projection stands, and how many events it could not apply. `age`: everything acknowledged longer ago than
 * this is in its rows, by the database's clock. ms
 */
export const readProjectionCheckpoints = compiled('projection-checkpoints', (db) =>
  db
    .selectFrom('checkpoints as c')
    .select((eb) => [
      'c.projection',
      'c.position',
      'c.as_of',
      sql<number>`greatest(0, ${sql.raw(CLOCK)} - c.as_of)`.as('age'),
      'c.unknown',
      eb
        .selectFrom('parked_events as p')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .whereRef('p.projection', '=', 'c.projection')
        .$asScalar()
        .$notNull()
        .as('parked'),
    ])
    .orderBy('c.projection'),
);
