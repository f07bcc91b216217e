import type { Pool } from 'pg';
import type { EventLog } from '../src/event-log/event-log.js';
import { formatInstant } from '../src/events/instant.js';
import { print, printJson, say } from '../src/terminal.js';
import { readCheckpoints } from './engine/checkpoints.js';
import { PROJECTIONS } from './registry.js';
import { dropParked, listParked, retryParked } from './engine/parked.js';
import type { Projection } from './engine/projection.js';
import { rebuild } from './engine/rebuild.js';
import { projectionStatus } from './engine/status.js';
import { verify } from './engine/verify.js';

interface Source {
  readonly pool: Pool;
  readonly log: EventLog;
}

interface Options {
  readonly json?: boolean;
  readonly why?: string;
}

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;

const show = (lines: readonly string[], json: unknown, { json: asJson }: Options): void =>
  asJson ? printJson(json) : print(lines);

/** A position may be greater than a number in JSON holds, for whoever reads it. */
const withTextPositions = (row: object): object => {
  const isPosition = (name: string): boolean => name === 'position' || name === 'revision';
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, isPosition(name) ? String(value) : (value as unknown)]),
  );
};

/** Says on standard error how far a recount is, at most once a second. */
const progress = (name: string, head: bigint): ((position: bigint) => void) => {
  let saidAt = Date.now();
  return (position) => {
    if (Date.now() - saidAt < 1_000) return;
    saidAt = Date.now();
    say(`${name}: ${head > 0n ? (100n * position) / head : 100n} % of the log`);
  };
};

const chosen = (name: string | undefined): readonly Projection[] | undefined => {
  const projections = PROJECTIONS.filter((projection) => name === undefined || projection.name === name);
  if (projections.length > 0) return projections;
  say(`There is no projection "${name}"; there are ${PROJECTIONS.map((projection) => projection.name).join(', ')}`);
  return undefined;
};

const status = async ({ pool, log }: Source, options: Options): Promise<number> => {
  const all = await projectionStatus(pool, log);
  const lines = all.map(
    ({ projection, position, lag, lagUnit, ageMs, parked, unknown }) =>
      `${projection.padEnd(18)} position ${position}, ${lag} ${lagUnit} behind, ` +
      `${ageMs === null ? 'never run' : `current as of ${ageMs} ms ago`}, ${parked} parked, ${unknown} of unknown type`,
  );
  show(lines, all, options);
  return DONE;
};

const rebuildAll = async (source: Source, name: string | undefined, options: Options): Promise<number> => {
  const projections = chosen(name);
  if (!projections) return WRONG_USAGE;
  const head = await source.log.head();
  for (const projection of projections) await rebuild(source, projection, progress(projection.name, head));
  const rebuilt = projections.map((projection) => projection.name);
  show(
    rebuilt.map((projection) => `${projection} rebuilt`),
    { rebuilt },
    options,
  );
  return DONE;
};

const verifyAll = async (source: Source, name: string | undefined, options: Options): Promise<number> => {
  const projections = chosen(name);
  if (!projections) return WRONG_USAGE;
  const differences = await verify(source, projections, progress('recount', await source.log.head()));
  show(
    [
      ...differences.map(({ table, side, row }) => `${table}: ${side}: ${JSON.stringify(row)}`),
      `${differences.length} differences`,
    ],
    { differences: differences.map((difference) => ({ ...difference, row: withTextPositions(difference.row) })) },
    options,
  );
  return differences.length === 0 ? DONE : FAILED;
};

const parked = async (source: Source, verb: string, id: string | undefined, options: Options): Promise<number> => {
  const events = await listParked(source.pool, id);
  if (id !== undefined && events.length === 0) {
    say(`No event ${id} is parked`);
    return FAILED;
  }
  if (verb === 'list') {
    const lines = events.map(
      (event) =>
        `${event.event_id} ${event.projection} ${event.type} in ${event.stream} since ${formatInstant(event.parked_at)}, ` +
        `tried ${event.attempts} times: ${event.reason}`,
    );
    show(lines, events.map(withTextPositions), options);
    return DONE;
  }
  if (verb === 'drop') {
    if (id === undefined || !options.why) {
      say('Usage: parked drop ID --why TEXT');
      return WRONG_USAGE;
    }
    await dropParked(source.log, events, options.why);
    show([`${id} will not be applied`], { dropped: [id] }, options);
    return DONE;
  }
  const results = [];
  for (const event of events) {
    const projection = PROJECTIONS.find(({ name }) => name === event.projection);
    const reason = projection ? await retryParked(source.pool, projection, event) : 'its projection is gone';
    results.push({ id: event.event_id, projection: event.projection, reason: reason ?? null });
  }
  show(
    results.map(
      ({ id: event, projection, reason }) =>
        `${event} ${projection} ${reason === null ? 'applied' : `stays parked: ${reason}`}`,
    ),
    results,
    options,
  );
  return results.every(({ reason }) => reason === null) ? DONE : FAILED;
};

/**
 * The operator's calls that need the projections.
 * @returns the exit code: 0 done, 1 failed, 2 wrong usage
 */
export const operate = async (source: Source, words: readonly string[], options: Options): Promise<number> => {
  await readCheckpoints(
    source.pool,
    source.log,
    PROJECTIONS.map(({ name }) => name),
  );
  const [noun, verb, argument] = words;
  const call = `${noun} ${verb}`;
  if (call === 'projections status') return status(source, options);
  if (call === 'projections rebuild') return rebuildAll(source, argument, options);
  if (call === 'projections verify') return verifyAll(source, argument, options);
  if (noun === 'parked' && ['list', 'retry', 'drop'].includes(verb ?? ''))
    return parked(source, verb!, argument, options);
  say(`Unknown call "${words.join(' ')}"`);
  return WRONG_USAGE;
};
