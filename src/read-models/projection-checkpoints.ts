import { compiled } from './compiled-statement.js';

/** Where each projection stands, and how many events it could not apply. */
export const readProjectionCheckpoints = compiled('projection-checkpoints', (db) =>
  db
    .selectFrom('checkpoints as c')
    .select((eb) => [
      'c.projection',
      'c.position',
      'c.as_of',
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
