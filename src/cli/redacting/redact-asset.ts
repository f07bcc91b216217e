import type { Pool } from 'pg';
import type { Command } from 'commander';
import { dropAbandonedTables } from '../../../projections/engine/apply-log.js';
import { hashOfKey, contentIssue } from '../../assets/asset.js';
import { parseContent } from '../../assets/parse-content.js';
import { EMPTY_SAMPLES, MAX_STRING, READ_SAMPLES } from '../../ingestion/outcomes/rejection-log.js';
import { assetKey, assetOf } from '../../assets/asset-key.js';
import { Conflict, Invalid, NotFound } from '../../errors.js';
import { PARKED_AMONG } from '../../event-log/postgres/rewriting.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints.js';
import { renewStatistics } from '../erasing/statistics-sql.js';
import { type Session, operatorName } from '../session.js';
import {
  hashOfStored,
  countByType,
  type FoundEvent,
  isAbout,
  recordOfAsset,
  redactEvents,
  type SoughtAsset,
  type StoredContents,
  withNodesToScavenge,
  withoutErased,
} from './stored-contents.js';
import { openStoredContents } from './open-stored-contents.js';
import { awaitProjections, withProjections } from '../projections.js';
import { prints, type Result, table, withProgress } from '../output.js';

/** The host of a link is another asset: its status also applies to other contents. */
const isHostOfLink = (key: string, index: number): boolean => index > 0 && key.startsWith('URL:');

/**
 * Reads a content as the asset check does.
 * @returns the keys under which exactly this asset may be stored; none if the content is not an asset
 */
const keysOf = (content: string): string[] => {
  const { parsed, code, internalAddress } = parseContent(content);
  if (code === 'parse-error') return [];
  // The asset check names several mailboxes by the first one, whose own events are about another asset.
  if (parsed?.type === 'EMAIL' && parsed.alternatives?.some(({ type }) => type === 'EMAIL'))
    return [assetKey({ type: 'EMAIL', content })];
  const asset = parsed ? assetOf(content, parsed) : { type: 'URL', content: internalAddress!.name };
  const keys = parsed?.keys.filter((key, index) => !isHostOfLink(key, index)) ?? [];
  return [...new Set([assetKey(asset), ...keys])];
};

/** An asset to find in the log and in the samples. */
interface Sought extends SoughtAsset {
  readonly keys: readonly string[];
}

/** @throws Invalid if no event may have this content */
const soughtBy = (content: string): Sought => {
  const text = content.trim();
  const issue = contentIssue(text);
  if (issue !== undefined) throw new Invalid(issue);
  const keys = keysOf(content);
  return { keys, hashes: keys.map(hashOfKey), text };
};

const nothingFound = ({ keys }: Sought, what: string): Invalid | NotFound =>
  keys.length === 0
    ? new Invalid(`${what} has this content, which cannot be read as an asset; nothing was changed`)
    : new NotFound(`${what} is about this asset; nothing was changed`);

/** The strings in what a sender wrote. The last one may be cut off, also inside an escape. */
const STRINGS = /"((?:[^"\\]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*)("?)/g;
/** The remains of a character that was cut off. */
const CUT_CHARACTER = /\uFFFD+$/;
const PAGE = 1_000;
const MAX_PASSES = 10;

/** Returns the keys of a text that a sender sent, also that of the host of a link. */
const keysOfText = (text: string): readonly string[] => {
  const { parsed, internalAddress } = parseContent(text);
  return (
    parsed?.keys ?? (internalAddress ? [assetKey({ type: internalAddress.type, content: internalAddress.name })] : [])
  );
};

/** Whether a sample names an asset in any of its strings, because the data of a rejected event may have any shape. */
const namesAsset = (sent: string, { text, keys }: Sought): boolean =>
  [...sent.matchAll(STRINGS)].some(([, escaped, end]) => {
    const written = (JSON.parse(`"${escaped}"`) as string).replace(end === '' ? CUT_CHARACTER : '', '');
    const found = keysOfText(written);
    if (written.trim() === text || found.some((key) => keys.includes(key))) return true;
    const isCut = end === '' || written.length === MAX_STRING;
    const isBeginning = (whole: string, part: string): boolean => part !== '' && whole.startsWith(part);
    return (
      isCut &&
      (isBeginning(text, written.trimStart()) || found.some((part) => keys.some((key) => isBeginning(key, part))))
    );
  });

/** Empties the samples about an asset that one pass over the table finds. @returns their number */
const redactSamplesOnce = async (pool: Pool, asset: Sought): Promise<number> => {
  let found = 0;
  for (let block = 0; ;) {
    const rows = await READ_SAMPLES.run(pool, { block, limit: PAGE });
    const samples = rows.filter(({ sent }) => namesAsset(sent, asset)).map(({ key }) => key);
    if (samples.length > 0) await EMPTY_SAMPLES.run(pool, { keys: samples });
    found += samples.length;
    if (rows.length < PAGE) return found;
    block = Number(rows.at(-1)!.key.slice(1).split(',')[0]);
  }
};

/**
 * Empties the samples of rejected events that name an asset, or that were cut off where they may have named it. Their
 * counts stay.
 * @returns whether there were any
 */
const redactSamples = async (pool: Pool, asset: Sought): Promise<boolean> => {
  // A row that is counted up between the reading and the emptying is elsewhere then, where the next pass finds it.
  for (let pass = 0; pass < MAX_PASSES; pass++) if ((await redactSamplesOnce(pool, asset)) === 0) return pass > 0;
  return true;
};

export interface RedactionProgress {
  readonly phase: 'positions' | 'events';
  readonly done: number;
  /** From 0 to 1. */
  readonly fraction: number;
}

export interface Redacted {
  /** Number of events by type. */
  readonly events: Readonly<Record<string, number>>;
  /** Number of records with such an event. */
  readonly records: number;
  /** The nodes to scavenge now. */
  readonly nodes: readonly string[];
}

type OnProgress = (progress: RedactionProgress) => void;

const summary = (found: readonly FoundEvent[], nodes: readonly string[] = []): Redacted => ({
  events: countByType(found),
  records: new Set(found.map(({ record }) => JSON.stringify(record))).size,
  nodes,
});

/** @throws Conflict if a projection could still apply one of the events, which would bring the content back */
const requireNoneParked = async ({ pool }: Session, found: readonly FoundEvent[]): Promise<void> => {
  const eventIds = found.map(({ eventId }) => eventId);
  const [parked] = await PARKED_AMONG.run(pool, { eventIds, projections: ALL_PROJECTIONS });
  if (parked)
    throw new Conflict(
      `Event ${parked.eventId} about this asset is parked in ${parked.projection}; nothing was changed. Run ` +
        '`parked retry` or `parked drop`, then repeat the call',
    );
};

/** The position after the last event. The events of a sender that keeps sending do not prolong the call. */
const endOf = async ({ log }: Session): Promise<number> => Number(await log.head()) + 1;

/** @param end the position after the last event to search */
const findAll = async (
  session: Session,
  contents: StoredContents,
  asset: SoughtAsset,
  end: number,
  onProgress: OnProgress,
): Promise<readonly FoundEvent[]> => {
  const onSearched = (done: number): void => onProgress({ phase: 'positions', done, fraction: done / end });
  const found: FoundEvent[] = [];
  for await (const round of contents.about(asset, end, onSearched))
    for (const event of round) {
      const hash = event.disputedHash ?? hashOfStored(event);
      if (hash === undefined || (event.disputedHash === null && !isAbout(event, asset))) continue;
      const { position, eventId, stream, type } = event;
      found.push({ position, eventId, stream, type, record: recordOfAsset(type, event.data, hash) });
    }
  return withoutErased(session, found);
};

/**
 * Counts the events about an asset. Changes nothing.
 * @throws NotFound if there is no such event, Invalid if the content cannot be read as an asset either
 */
export const countAsset = async (session: Session, content: string, onProgress: OnProgress): Promise<Redacted> => {
  const asset = soughtBy(content);
  const found = await findAll(session, openStoredContents(session), asset, await endOf(session), onProgress);
  if (found.length === 0) throw nothingFound(asset, 'No event');
  return summary(found);
};

/**
 * Redacts an asset in every event of every organization that is in the log when the call starts, and in all tables. A
 * call that was killed is continued by the next call.
 * @throws NotFound if no event and no sample of a rejected event is about the asset, Invalid if the content cannot be
 *   read as an asset either
 * @throws Conflict if an event about the asset is parked
 */
export const redactAsset = async (
  session: Session,
  content: string,
  operator: string,
  onProgress: OnProgress = () => {},
): Promise<Redacted> => {
  const asset = soughtBy(content);
  const contents = openStoredContents(session);
  const end = await endOf(session);
  // The tables tell which resolutions are about the asset. A projection that has not reached an event could still park
  // it, with its content.
  await awaitProjections(session, end - 1);
  const found = await findAll(session, contents, asset, end, onProgress);
  await requireNoneParked(session, found);
  const hadSamples = await redactSamples(session.pool, asset);
  if (found.length > 0)
    await redactEvents(
      session,
      contents,
      found,
      operator,
      ({ position }) => position,
      (done) => onProgress({ phase: 'events', done, fraction: done / found.length }),
    );
  // Also if an earlier call has redacted everything, and ended before this.
  await dropAbandonedTables(session.pool);
  await renewStatistics(session.pool);
  if (found.length === 0 && !hadSamples) throw nothingFound(asset, 'Nothing stored');
  return summary(found, found.length > 0 ? contents.nodes : []);
};

interface RedactOptions {
  readonly dryRun?: boolean;
}

const redact = async (content: string, { dryRun = false }: RedactOptions): Promise<Result> => {
  soughtBy(content);
  return withProjections((session) =>
    withProgress({ positions: 'positions', events: 'events' }, async (bars) => {
      const onProgress = ({ phase, done, fraction }: RedactionProgress): void => bars[phase].update(done, fraction);
      const { events, records, nodes } = dryRun
        ? await countAsset(session, content, onProgress)
        : await redactAsset(session, content, operatorName(), onProgress);
      const lines = [...table(['events', 'number'], Object.entries(events)), `records: ${records}`];
      return withNodesToScavenge({ lines, json: { events, records } }, nodes);
    }),
  );
};

export const addAssetCommands = (program: Command): void => {
  const assets = program.command('assets').description('assets: redact');
  prints(
    assets
      .command('redact')
      .argument('<content>')
      .description('replace the content of an asset by [redacted] in all events and tables of every organization')
      .option('--dry-run', 'count the events and records, and change nothing'),
    redact,
  );
};
