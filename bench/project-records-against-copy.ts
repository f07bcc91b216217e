import { verify } from '../projections/engine/verify.js';
import { register } from '../projections/register/projection.js';
import { type OwnedEvent, rowOf } from '../projections/register/row.js';
import { recordId } from '../src/events/record-id.js';
import { parseEvent } from '../src/events/event.js';
import type { Sent } from '../test/support/upstream.js';
import { copying } from './copy.js';
import { requireEqual } from './equal.js';
import { upstreamEvents } from './events.js';
import { type Goal, measure, rates } from './goal.js';
import { catchUp, filledLog, truncateReadModels, project, REGISTER } from './log-work.js';

const EVENT_ID = '00000000-0000-4000-8000-000000000000';

const TABLE = `bench.records (record, organization, kind, id, version, event_id, position, stored_at, added_at,
  first_added_at, has_counted, created_at, status, type, asset, content, brands)`;

/** Returns the row of an event as a line for `COPY` into `TABLE`. Each row gets a distinct key. */
const lineOf = ({ id, type, data }: Sent, index: number): string => {
  const event = parseEvent(type, data).event as OwnedEvent;
  const row = rowOf({ event, id: EVENT_ID, position: BigInt(index), recordedAt: index } as Parameters<typeof rowOf>[0]);
  const { organization, kind, version, position, recordedAt, view, assetHash, hasCounted } = row;
  const cells: (string | number | bigint | undefined)[] = [
    recordId({ ...row, id }),
    organization,
    kind,
    id,
    version,
    EVENT_ID,
    position,
    recordedAt,
    recordedAt,
  ];
  cells.push(recordedAt, String(hasCounted), view?.createdAt, view?.status, view?.asset?.type, assetHash);
  cells.push(view?.asset?.content, view && `{${view.brands.join()}}`);
  return `${cells.map((cell) => cell ?? '\\N').join('\t')}\n`;
};

/** Compares projecting the records of the lists and the feed with a COPY of the same number of rows. */
export const projectRecordsAgainstCopy: Goal = {
  name: 'G4d',
  run: async (bench) => {
    const filled = await filledLog(bench);
    const { pool: projectedPool } = await bench.database();
    const few = BigInt(Math.min(filled.events, 20_000));
    await project(filled, projectedPool, (at) => at >= few, REGISTER);
    requireEqual('recount', [], await verify({ pool: projectedPool, log: filled.log }, [register]));
    await truncateReadModels(projectedPool);

    const { pool } = await bench.database();
    await pool.query('create schema bench; create table bench.records (like read.register including all)');
    const lines = upstreamEvents(filled.events).map(lineOf);
    const paired = await measure(
      bench,
      'G4d',
      { base: copying(pool, TABLE, lines), target: catchUp(filled, projectedPool, REGISTER) },
      bench.sizes.quick ? bench.sizes.schedule : { rounds: 8, ms: 2_000 },
    );
    return [
      {
        what: 'projection: the records of the lists and the feed',
        against: 'COPY of the same number of rows, with the same indexes',
        measured: paired.ratio,
        must: 0.2,
        note: rates(paired, 'per second'),
      },
    ];
  },
};
