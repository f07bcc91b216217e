import { requireEqual } from './equal.js';
import { type Goal, measure, rates } from './goal.js';
import { catchUp, filledLog } from './log-work.js';
import type { Slice } from './paired.js';
import type { Pool } from 'pg';

const PAGE = { name: 'bench-page', text: 'select * from log.events where position > $1 order by position limit 100' };
const MOVE = {
  name: 'bench-consumer-move',
  text: 'update bench.checkpoint set position = $1 where name = $2 and position = $3',
};

/** A consumer that does nothing with the events: reads pages of 100, and moves its checkpoint after each event. */
const idleConsumer = (pool: Pool): Slice & { position(): number } => {
  let position = -1;
  const slice = async (ms: number): Promise<number> => {
    const from = performance.now();
    let done = 0;
    while (performance.now() - from < ms) {
      const { rows } = await pool.query<{ position: number }>({ ...PAGE, values: [position] });
      if (rows.length === 0)
        throw new Error('The log has no more events: it is too short for the speed of this machine');
      for (const event of rows) {
        await pool.query({ ...MOVE, values: [event.position, 'idle', position] });
        position = event.position;
        done += 1;
        if (performance.now() - from >= ms) break;
      }
    }
    return (done * 1000) / (performance.now() - from);
  };
  return Object.assign(slice, { position: () => position });
};

/**
 * Compares catching up with the log with a consumer that does nothing. The consumer reads pages of 100 and moves its
 * checkpoint after each event, like emmett-postgresql, which is not a dependency because it would add 49 packages.
 */
export const catchUpAgainstIdleConsumer: Goal = {
  name: 'G4c',
  run: async (bench) => {
    const filled = await filledLog(bench);
    const { pool } = filled.database;
    await pool.query(`
      create schema bench;
      create table bench.checkpoint (name text primary key, position bigint not null) with (fillfactor = 10);
      insert into bench.checkpoint values ('idle', -1)`);
    const base = idleConsumer(pool);
    await base(50);
    const { rows } = await pool.query<{ position: number }>('select position from bench.checkpoint');
    requireEqual('the position reached', rows[0]!.position, base.position());
    const paired = await measure(bench, 'G4c', { base, target: catchUp(filled, pool) });
    return [
      {
        what: 'catch-up from the log end to end',
        against: 'a consumer that does nothing, in the manner of emmett-postgresql',
        measured: paired.ratio,
        unit: '×',
        must: 10,
        aim: 20,
        note: rates(paired, 'events per second'),
      },
    ];
  },
};
