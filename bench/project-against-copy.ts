import { copying } from './copy.js';
import { requireEqual } from './equal.js';
import { upstreamEvents } from './events.js';
import { type Goal, measure, rates } from './goal.js';
import { catchUp, factsOfAll, filledLog, truncateReadModels, project } from './log-work.js';
import { verify } from '../projections/engine/verify.js';
import { metrics } from '../projections/metrics/projection.js';

/**
 * Compares projecting facts, counts and the checkpoint from a log with a COPY of the same facts into the same table.
 */
export const projectAgainstCopy: Goal = {
  name: 'G4a',
  run: async (bench) => {
    const filled = await filledLog(bench);
    const { database, log, events } = filled;
    const checkedEvents = BigInt(Math.min(events, 20_000));
    await project(filled, database.pool, (at) => at >= checkedEvents);
    requireEqual('recount', [], await verify({ pool: database.pool, log }, [metrics]));
    await truncateReadModels(database.pool);

    const { pool } = await bench.database();
    await pool.query('create schema bench; create table bench.facts (like read.facts including all)');
    const lines = factsOfAll(upstreamEvents(events)).map(
      ({ fact, record }) => `${[...fact, record, 0, 0].join('\t')}\n`,
    );
    const paired = await measure(
      bench,
      'G4a',
      { base: copying(pool, 'bench.facts', lines), target: catchUp(filled, database.pool) },
      bench.sizes.quick ? bench.sizes.schedule : { rounds: 8, ms: 2_000 },
    );
    return [
      {
        what: 'projection: facts, counts and checkpoint, from a filled log',
        against: 'COPY of the same facts',
        measured: paired.ratio,
        must: 0.12,
        aim: 0.2,
        note: rates(paired, 'per second'),
      },
    ];
  },
};
