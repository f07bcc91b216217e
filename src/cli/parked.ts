import type { Command } from 'commander';
import { dropParked, listParked, retryParked } from '../../projections/engine/parked.js';
import { Invalid, NotFound } from '../errors.js';
import { formatInstant, formatDay } from '../events/instant.js';
import { prints, type Result, positionsAsStrings, table } from './output.js';
import { awaitProjections, withProjections } from './projections.js';
import { type Session, withDatabase } from './session.js';
import { clearRejectedEvents, listRejectedEvents } from '../ingestion/outcomes/rejection-log.js';

type Parked = Awaited<ReturnType<typeof listParked>>;

const keyOf = ({ event_id, projection }: Parked[number]): string => `${event_id} ${projection}`;

const NOTHING_PARKED = ['Nothing is parked'];

/** @throws NotFound if `id` is given, and no event with this id is parked */
const parkedEvents = async ({ pool }: Session, id?: string): Promise<Parked> => {
  const events = await listParked(pool, id);
  if (id !== undefined && events.length === 0) throw new NotFound(`Event ${id} is not parked`);
  return events;
};

/** Returns a parked event as JSON, without the columns that only the API shows. */
const toJson = ({ event_id, position, revision, parked_at, recorded_at, ...event }: Parked[number]): object => ({
  eventId: event_id,
  projection: event.projection,
  ...positionsAsStrings({ position, revision }),
  stream: event.stream,
  type: event.type,
  data: event.data,
  metadata: event.metadata,
  reason: event.reason,
  attempts: event.attempts,
  recordedAt: recorded_at === null ? null : formatInstant(recorded_at),
  parkedAt: formatInstant(parked_at),
});

const addListOfParked = (): Promise<Result> =>
  withProjections(async (session) => {
    const events = await parkedEvents(session);
    const lines = events.map(
      (event) =>
        `${event.event_id} ${event.projection} ${event.type} in ${event.stream} since ${formatInstant(event.parked_at)}, ` +
        `tried ${event.attempts === 1 ? 'once' : `${event.attempts} times`}: ${event.reason}`,
    );
    return { lines: lines.length > 0 ? lines : NOTHING_PARKED, json: events.map(toJson) };
  });

const retry = (id: string | undefined): Promise<Result> =>
  withProjections(async (session) => {
    const parked = await parkedEvents(session, id);
    const position = await retryParked(session.log, parked);
    if (position === undefined) return { lines: NOTHING_PARKED, json: [] };
    await awaitProjections(session, Number(position));
    const still = new Map((await listParked(session.pool)).map((event) => [keyOf(event), event.reason]));
    const results = parked.map((event) => ({
      id: event.event_id,
      projection: event.projection,
      reason: still.get(keyOf(event)) ?? null,
    }));
    return {
      lines: results.map(
        ({ id: event, projection, reason }) =>
          `${event} ${projection} ${reason === null ? 'applied' : `stays parked: ${reason}`}`,
      ),
      json: results,
      failed: results.some(({ reason }) => reason !== null),
    };
  });

const drop = async (id: string, { reason }: { readonly reason: string }): Promise<Result> => {
  if (reason === '') throw new Invalid('--reason must be a non-empty string');
  return withProjections(async (session) => {
    await dropParked(session.log, await parkedEvents(session, id), reason);
    return { lines: [`${id} will not be applied`], json: { dropped: [id] } };
  });
};

export const addParkedCommands = (program: Command): void => {
  const parked = program.command('parked').description('events that a projection could not apply');
  prints(parked.command('list').description('list the parked events with their reasons'), addListOfParked);
  prints(
    parked.command('retry').argument('[id]').description('apply one parked event again, or all parked events'),
    retry,
  );
  prints(
    parked
      .command('drop')
      .argument('<id>')
      .description('discard a parked event for good, and record the reason in the log')
      .requiredOption('--reason <text>', 'why the event is dropped'),
    drop,
  );
};

const addListOfRejected = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const rejected = (await listRejectedEvents(pool)).map(({ day, lastAt, ...rest }) => ({
      ...rest,
      day: formatDay(day),
      lastAt: formatInstant(lastAt),
    }));
    return {
      lines: table(
        ['day', 'key', 'reason', 'type', 'count', 'lastAt', 'id', 'sent type', 'issue'],
        rejected.map(({ day, keyId, reason, type, count, lastAt, sample: { id, type: sentType, issues } }) => {
          return [day, keyId, reason, type, count, lastAt, id, sentType || '-', issues[0]];
        }),
      ),
      json: rejected,
    };
  });

const clear = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const cleared = await clearRejectedEvents(pool);
    return {
      lines: [`${cleared} ${cleared === 1 ? 'record' : 'records'} of rejected events deleted`],
      json: { cleared },
    };
  });

export const addRejectedCommands = (program: Command): void => {
  const rejected = program.command('rejected').description('events that the ingestion endpoint rejected: list, clear');
  prints(
    rejected.command('list').description('list a count and a sample per day, key, reason and type'),
    addListOfRejected,
  );
  prints(rejected.command('clear').description('delete the records of rejected events'), clear);
};
