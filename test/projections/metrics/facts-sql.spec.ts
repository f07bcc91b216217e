import { beforeAll, describe, expect, it } from '@jest/globals';
import { DAY_COUNTS, TYPE_DAY_COUNTS } from '../../../projections/metrics/counts.js';
import {
  DELETE_FORMER_FACTS,
  DELETE_FORMER_STATES,
  END_FACTS,
  INSERT_NEW_RECORDS,
  READ_FORMER_STATES,
  UPDATE_RECORDS,
} from '../../../projections/metrics/facts-sql.js';
import { INSERT_LOG_STEPS, READ_LOG_INSTANTS } from '../../../projections/metrics/log-clock.js';
import { transact } from '../../../projections/engine/projection.js';
import { sharedDatabase } from '../../support/open-for-tests.js';

const SIZE = 3_000;
const numbers = (type: string): string => `array(select n::${type} from generate_series(1, ${SIZE}) n)`;
const texts = numbers('text');
const ids = `array(select gen_random_uuid() from generate_series(1, ${SIZE}))`;

const states = [texts, texts, texts, numbers('bigint'), ids, texts, numbers('bigint'), texts];
const facts = [texts, texts, numbers('bigint'), numbers('smallint'), texts, texts];

/** Each statement with the arrays of a batch as SQL expressions. */
const STATEMENTS: readonly [name: string, text: string, values: readonly string[]][] = [
  [INSERT_NEW_RECORDS.name, INSERT_NEW_RECORDS.text, states],
  [UPDATE_RECORDS.name, UPDATE_RECORDS.text, states],
  [READ_FORMER_STATES.name, READ_FORMER_STATES.text, [texts, texts, texts]],
  [DELETE_FORMER_STATES.name, DELETE_FORMER_STATES.text, [texts, texts, texts]],
  [END_FACTS.name, END_FACTS.text, [...facts, numbers('bigint')]],
  [
    DELETE_FORMER_FACTS.name,
    DELETE_FORMER_FACTS.text,
    [...facts, numbers('bigint'), numbers('bigint'), numbers('smallint')],
  ],
  [INSERT_LOG_STEPS.name, INSERT_LOG_STEPS.text, [numbers('bigint'), numbers('bigint')]],
  [READ_LOG_INSTANTS.name, READ_LOG_INSTANTS.text, [numbers('bigint')]],
  [
    DAY_COUNTS.subtract.name,
    DAY_COUNTS.subtract.text,
    [texts, texts, numbers('smallint'), numbers('int'), numbers('bigint')],
  ],
  [
    TYPE_DAY_COUNTS.subtract.name,
    TYPE_DAY_COUNTS.subtract.text,
    [texts, texts, numbers('int'), texts, numbers('bigint')],
  ],
];

describe('The statements of the metrics projection', () => {
  const database = sharedDatabase();

  beforeAll(async () => {
    // The statistics of the planner are from the empty tables.
    await database.pool.query(
      'analyze read.records, read.facts, read.former_states, read.former_facts, read.log_clock, read.days, read.type_days',
    );
  });

  it.each(STATEMENTS)(
    '%s uses the primary key even if the planner assumes that the table is empty',
    async (_name, text, values) => {
      const { rows } = await database.pool.query<Record<string, string>>(
        `select ${values.map((value, index) => `${value}::text as v${index}`).join(', ')}`,
      );
      const plan = await transact(database.pool, 'read', async ({ connection }) => {
        const answer = await connection.query<{ 'QUERY PLAN': string }>(`explain ${text}`, Object.values(rows[0]!));
        return answer.rows.map((row) => row['QUERY PLAN']).join('\n');
      });
      expect(plan).toMatch(/Index (Only )?Scan/);
      expect(plan).not.toMatch(/Seq Scan|Hash|Merge (Left |Anti )?Join|Materialize/);
    },
  );
});
