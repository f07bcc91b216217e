import { expect, it } from '@jest/globals';
import { FIND_EXPIRED } from '../../../src/event-log/postgres/rewriting.js';
import { ALL_PROJECTIONS } from '../../../src/read-models/checkpoints.js';
import { sharedApp } from '../../support/open-for-tests.js';

const app = sharedApp();
const RECORDS = 5_000;

it('The retention finds the newest state of a record by its key, however many records the organization has', async () => {
  const ids = `select gen_random_uuid() as event, n from generate_series(1, ${RECORDS}) n`;
  await app.pool.query(`
    insert into read.records (organization, kind, id, version, event_id, counts, position)
      select 'acme', 'threat', 't-' || n, 20, event, '[]', n from (${ids}) i;
    insert into log.events (position, stream, revision, event_id, type, data, metadata, recorded_at)
      select n, 'threat-acme:t-' || n, 0, event, 'ThreatStatusChanged', json_build_object('organization', 'acme',
        'threatId', 't-' || n, 'asset', json_build_object('type', 'URL', 'content', 'x')), '{}', n
      from (${ids}) i where n > ${RECORDS} - 10;
    analyze`);
  const values = { from: 0, to: RECORDS + 1, projections: ALL_PROJECTIONS };
  expect(await FIND_EXPIRED.run(app.pool, { ...values, version: 20 })).toEqual([]);
  expect(await FIND_EXPIRED.run(app.pool, { ...values, version: 21 })).toHaveLength(10);
  const { rows } = await app.pool.query<{ 'QUERY PLAN': unknown[] }>({
    text: `explain (analyze, format json) ${FIND_EXPIRED.text}`,
    values: [0, RECORDS + 1, 20, ALL_PROJECTIONS],
  });
  const plan = JSON.stringify(rows);
  expect(plan).toContain('"Index Name":"records_pkey"');
  // Of the scans that read records, none looks at other records than that of its event.
  expect(plan).not.toMatch(/"Relation Name":"records"(?:(?!"Plans").)*"Rows Removed by Filter":[1-9]\d\d/);
});
