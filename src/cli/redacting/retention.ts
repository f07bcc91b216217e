import type { Command } from 'commander';
import { dropAbandonedTables } from '../../../projections/engine/apply-log.js';
import { parseInstant, formatInstant, MS_PER_DAY } from '../../events/instant.js';
import { databaseTime } from '../../postgres/clock.js';
import { renewStatistics } from '../erasing/statistics-sql.js';
import { awaitProjections, withProjections } from '../projections.js';
import { type Session, operatorName } from '../session.js';
import {
  hashOfStored,
  countByType,
  type FoundEvent,
  recordOfAsset,
  redactEvents,
  type OutdatedContent,
  withNodesToScavenge,
  withoutErased,
} from './stored-contents.js';
import { openStoredContents } from './open-stored-contents.js';
import { Invalid } from '../../errors.js';
import { prints, type Result, table, withProgress } from '../output.js';

export interface Retention {
  /** The instant before which contents expire, in ms. */
  readonly cutoff: number;
  /** Number of events by type. */
  readonly events: Readonly<Record<string, number>>;
  /** The nodes to scavenge now. */
  readonly nodes: readonly string[];
}

export interface RetentionOptions {
  /** True if the expired events are only counted. */
  readonly dryRun?: boolean;
  readonly onProgress?: (positions: number, fraction: number) => void;
  /** Specs search in smaller rounds. */
  readonly positionsPerRound?: number;
}

interface ExpiredEvent extends FoundEvent {
  /** The version of the newest state of the record. */
  readonly version: number;
  /** The id of the event of this state. */
  readonly newestId: string;
}

/** A deleted entry has no instant in the tables, so the instant of the event decides. */
const isExpired = ({ isDeletedEntry, data }: OutdatedContent, cutoff: number): boolean => {
  const at = parseInstant(String(data['createdAt'] ?? data['deletedAt']));
  return !isDeletedEntry || (at !== undefined && at < cutoff);
};

const expiredOf = (outdated: readonly OutdatedContent[], cutoff: number): ExpiredEvent[] =>
  outdated.flatMap((event) => {
    const hash = hashOfStored(event);
    if (hash === undefined || !isExpired(event, cutoff)) return [];
    const { position, eventId, stream, type, data, version, newestId } = event;
    return { position, eventId, stream, type, version, newestId, record: recordOfAsset(type, data, hash) };
  });

/**
 * Redacts the contents of threats and takedowns whose newest state is older than an age, by the database's clock, and of
 * entries of the status history that are older and no longer in force. Skips parked events. Searches the log up to its
 * head at the start of the call. A call that was killed is continued by the next call.
 * @param ageMs the age
 * @param operator who applies the retention, for the metadata of the events
 */
export const applyRetention = async (
  session: Session,
  ageMs: number,
  operator: string,
  { dryRun = false, onProgress = () => {}, positionsPerRound }: RetentionOptions = {},
): Promise<Retention> => {
  const { pool, log } = session;
  const cutoff = (await databaseTime(pool)) - ageMs;
  const end = Number(await log.head()) + 1;
  // A newer state that is stored but not applied yet keeps the content of its record.
  if (!dryRun) await awaitProjections(session, end - 1);
  const events: Record<string, number> = {};
  const contents = openStoredContents(session, positionsPerRound);
  const onSearched = (position: number): void => onProgress(position, position / end);
  for await (const outdated of contents.outdated(2 * cutoff, end, onSearched)) {
    const expired = await withoutErased(session, expiredOf(outdated, cutoff));
    for (const [type, count] of Object.entries(countByType(expired))) events[type] = (events[type] ?? 0) + count;
    if (!dryRun && expired.length > 0)
      await redactEvents(session, contents, expired, operator, ({ version, newestId }) => `${version} ${newestId}`);
  }
  // Also if an earlier call has redacted everything, and ended before this.
  if (!dryRun) {
    await dropAbandonedTables(pool);
    await renewStatistics(pool);
  }
  return { cutoff, events, nodes: dryRun || Object.keys(events).length === 0 ? [] : contents.nodes };
};

interface ApplyOptions {
  readonly olderThan: string;
  readonly dryRun?: boolean;
}

/** Reads an age such as `730d`, in ms. @throws Invalid */
const readAge = (text: string): number => {
  const [, days] = /^([1-9]\d{0,4})d$/.exec(text) ?? [];
  if (days === undefined)
    throw new Invalid(
      `--older-than must be a number of days from 1 to 99999 followed by d, such as 730d, not ${JSON.stringify(text)}`,
    );
  return Number(days) * MS_PER_DAY;
};

const apply = async ({ olderThan, dryRun = false }: ApplyOptions): Promise<Result> => {
  const ageMs = readAge(olderThan);
  return withProjections((session) =>
    withProgress({ positions: 'positions' }, async (bars) => {
      const { cutoff, events, nodes } = await applyRetention(session, ageMs, operatorName(), {
        dryRun,
        onProgress: (positions, fraction) => bars.positions.update(positions, fraction),
      });
      const before = formatInstant(cutoff);
      const counts = Object.entries(events);
      const lines = counts.length === 0 ? [`Nothing to redact before ${before}`] : table(['events', 'number'], counts);
      return withNodesToScavenge({ lines, json: { before, events } }, nodes);
    }),
  );
};

export const addRetentionCommands = (program: Command): void => {
  const retention = program.command('retention').description('retention of contents: apply');
  prints(
    retention
      .command('apply')
      .description('replace the contents of old threats, takedowns and past statuses by [redacted]')
      .requiredOption('--older-than <age>', 'the age in days, such as 730d')
      .option('--dry-run', 'count the events, and change nothing'),
    apply,
  );
};
