import type { Command } from 'commander';
import { Projector } from '../../projections/engine/projector.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { pause } from '../flow/time.js';
import { COUNT_CHECKPOINTS_AT } from '../read-models/erasures.js';
import { type Session, withLog, withDatabase } from './session.js';
import { readCheckpoints } from '../../projections/engine/checkpoints.js';
import type { Projection } from '../../projections/engine/projection.js';
import { rebuild } from '../../projections/engine/rebuild.js';
import { projectionStatus } from '../../projections/engine/parked.js';
import { type Difference, MAX_SHOWN, verify } from '../../projections/engine/verify.js';
import { Invalid } from '../errors.js';
import { readWithRetries } from '../event-log/read-streams.js';
import { say } from '../runtime/terminal.js';
import { prints, type Result, positionsAsStrings, UNCHECKED } from './output.js';

const POLL_MS = 20;
/** How long to wait for a projector of the service before the call projects the rest of the log itself. */
const MAX_WAIT_FOR_PROJECTOR_MS = 1_000;

/**
 * Waits until every projection has applied the log up to a position, so that no projector can still hold earlier events
 * in memory. If no projector of the service gets there, this call projects the log itself.
 */
export const awaitProjections = async ({ pool, log }: Session, position: number): Promise<void> => {
  const isReached = async (): Promise<boolean> =>
    (await COUNT_CHECKPOINTS_AT.run(pool, { position }))[0]!.reached >= PROJECTIONS.length;
  const helpAt = performance.now() + MAX_WAIT_FOR_PROJECTOR_MS;
  while (!(await isReached()) && performance.now() < helpAt) await pause(POLL_MS);
  if (await isReached()) return;
  const stop = new AbortController();
  const running = new Projector(log, pool, PROJECTIONS, { onError: () => {} }).run(stop.signal);
  let failure: { readonly error: unknown } | undefined;
  running.catch((error: unknown) => (failure = { error }));
  try {
    while (failure === undefined && !(await isReached())) await pause(POLL_MS);
  } finally {
    // If the database fails meanwhile, the projectors would otherwise retry for ever, and the call would not end.
    stop.abort();
    await Promise.allSettled([running]);
  }
  await running;
};

/** Options that report on standard error when the log is unavailable, and when the log is available again. */
const reportWaiting = { onWait: say };

/**
 * Runs work on the projections without a statement timeout.
 * @throws ForeignCheckpoint if the tables were filled from another log
 */
export const withProjections = (work: (session: Session) => Promise<Result>): Promise<Result> =>
  withLog(
    async (session) => {
      await readWithRetries(() => readCheckpoints(session.pool, session.log, PROJECTIONS), reportWaiting);
      return work(session);
    },
    { withoutTimeouts: true },
  );

/** @throws Invalid if there is no projection of that name */
const selectProjections = (name: string | undefined): readonly Projection[] => {
  const projections = PROJECTIONS.filter((projection) => name === undefined || projection.name === name);
  if (projections.length > 0) return projections;
  const names = PROJECTIONS.map((projection) => projection.name);
  throw new Invalid(`Unknown projection "${name}". Known: ${names.join(', ')}`);
};

/**
 * Returns how much of the log is before a position, in percent. The position may be after `head`, because the log grows
 * meanwhile.
 */
export const percentOf = (position: bigint, head: bigint): bigint =>
  position >= head ? 100n : position <= 0n ? 0n : (100n * position) / head;

/** Reports progress on standard error, at most once a second. */
const progress = (name: string, head: bigint): ((position: bigint) => void) => {
  let reportedAt = performance.now();
  return (position) => {
    if (performance.now() - reportedAt < 1_000) return;
    reportedAt = performance.now();
    say(`${name}: ${percentOf(position, head)} % of the log`);
  };
};

const status = (): Promise<Result> =>
  withProjections(async ({ pool, log }) => {
    const statuses = await projectionStatus(pool, log);
    const lines = statuses.map(
      ({ projection, position, lag, lagUnit, ageMs, parked, unknown }) =>
        `${projection.padEnd(18)} position ${position}, ${lag} ${lagUnit} behind, ` +
        `${ageMs === null ? 'never run' : `up to date as of ${ageMs} ms ago`}, ${parked} parked, ${unknown} of unknown type`,
    );
    return { lines, json: statuses };
  });

const rebuildAll = async (name: string | undefined): Promise<Result> => {
  const projections = selectProjections(name);
  return withProjections(async (session) => {
    const source = { ...session, ...reportWaiting };
    const head = await readWithRetries(() => session.log.head(), reportWaiting);
    await rebuild(source, projections, progress('rebuild', head));
    const rebuilt = projections.map((projection) => projection.name);
    return { lines: rebuilt.map((projection) => `${projection} rebuilt`), json: { rebuilt } };
  });
};

/**
 * Lists the number of rows by table and side, then the rows, then the total. A number is a lower bound if rows were
 * omitted.
 */
const describeDifferences = (differences: readonly Difference[]): string[] => {
  const counts = new Map<string, number>();
  for (const { table, side } of differences)
    counts.set(`${table}: ${side}`, (counts.get(`${table}: ${side}`) ?? 0) + 1);
  const isCut = [...counts.values()].includes(MAX_SHOWN);
  return [
    ...[...counts].map(
      ([what, count]) => `${what}: ${count === MAX_SHOWN ? `${count} or more` : count} ${count === 1 ? 'row' : 'rows'}`,
    ),
    ...differences.map(({ table, side, row }) => `${table}: ${side}: ${JSON.stringify(row)}`),
    `${differences.length} differences${isCut ? ' or more' : ''}`,
  ];
};

const verifyAll = async (name: string | undefined): Promise<Result> => {
  const projections = selectProjections(name);
  return withProjections(async (session) => {
    const head = await readWithRetries(() => session.log.head(), reportWaiting);
    const differences = await verify({ ...session, ...reportWaiting }, projections, progress('verify', head));
    return {
      lines: describeDifferences(differences),
      json: {
        differences: differences.map((difference) => ({ ...difference, row: positionsAsStrings(difference.row) })),
      },
      failed: differences.length > 0,
    };
  });
};

export const addProjectionCommands = (program: Command): void => {
  const projections = program.command('projections').description('projections of the log: status, rebuild, verify');
  prints(
    projections.command('status').description('show position, lag, age and parked events of each projection'),
    status,
  );
  prints(
    projections
      .command('rebuild')
      .argument('[name]')
      .description('fill new tables from the log next to the live ones, then switch to them'),
    rebuildAll,
  );
  prints(
    projections
      .command('verify')
      .argument('[name]')
      .description('recompute the tables from the log and print the differences; exits with 1 if there are any'),
    verifyAll,
    UNCHECKED,
  );
};

export const addMigrateCommand = (program: Command): void => {
  prints(
    program.command('migrate').description('migrate the tables to this version; safe to run concurrently'),
    // `withDatabase` migrates the tables when it opens the database.
    () =>
      withDatabase(() => Promise.resolve({ lines: ['The tables are at this version'], json: { migrated: true } }), {
        migrates: true,
      }),
  );
};
