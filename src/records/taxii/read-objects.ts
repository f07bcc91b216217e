import { createHash } from 'node:crypto';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Gone, Invalid, NotFound } from '../../errors.js';
import { EventLog } from '../../event-log/event-log.js';
import { LATEST, parseInstant } from '../../events/instant.js';
import { pause } from '../../flow/time.js';
import { TimeSlices } from '../../flow/turns.js';
import { notReached } from '../../http/consistency.js';
import { PageCursors } from '../../http/responses/page-cursor.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { type AnswerFrom, RecordQueries, requireReached } from '../record-queries.js';
import { type Collection, COLLECTIONS, OBJECT_TYPE } from './objects.js';
import { NEXT_OBJECTS, type PageRow } from './objects-sql.js';
import { type Next, type PageForm, writePage, type WrittenPage } from './write-page.js';
import { limit } from '../../limits.js';

/** Which objects of a collection a client asks for. Instants are in ms. */
interface Wanted {
  readonly addedAfter: number | null;
  /** UUIDs. Null: all objects; empty: none. */
  readonly ids: readonly string[] | null;
  readonly versions: readonly number[] | null;
}

export interface ObjectsRequest extends Wanted {
  readonly limit: number | undefined;
  readonly next: string | undefined;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = limit('page of TAXII', 1_000, 'objects', 'request', 'counts as the limit');
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SPEC_VERSION = '2.1';
/** The form that STIX 2.1 prescribes for the name of a type. */
const STIX_TYPE = '[a-z][a-z0-9-]{2,249}';
const FORMS = {
  'match[type]': [new RegExp(`^${STIX_TYPE}$`), 'types of STIX objects'],
  'match[spec_version]': [/^\d+\.\d+$/, 'versions of STIX'],
  'match[id]': [new RegExp(`^${STIX_TYPE}--[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, 'i'), 'ids of STIX objects'],
} as const;

const invalid = (name: string, rule: string): Invalid => new Invalid(`${name} ${rule}`);

const textOf = (query: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const value = query[name];
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw invalid(name, 'must be given once');
  if (value === '' || value.includes('\0')) throw invalid(name, 'must not be empty');
  return value;
};

const listOf = (query: Readonly<Record<string, unknown>>, name: string): readonly string[] | undefined => {
  const values = textOf(query, name)?.split(',');
  if (values?.includes('')) throw invalid(name, 'must be one or more values, separated by commas');
  return values;
};

const matchesOf = (
  query: Readonly<Record<string, unknown>>,
  name: keyof typeof FORMS,
): readonly string[] | undefined => {
  const values = listOf(query, name);
  const [form, noun] = FORMS[name];
  if (values?.some((each) => !form.test(each))) throw invalid(name, `must be one or more ${noun}, separated by commas`);
  return values;
};

/** Parses a time of TAXII; an unescaped plus sign arrives as a space. */
const instantOf = (name: string, text: string): number => {
  const at = parseInstant(text.replace(/ (?=\d\d:\d\d$)/, '+'));
  if (at === undefined) throw invalid(name, 'must be an RFC 3339 time with Z or an offset');
  return at;
};

const MALFORMED = 'next must be the next of a response of this collection';
const VERSION_NAMES = new Set(['first', 'last', 'all']);

/**
 * Reads the parameters of a request for objects, their manifest or their versions.
 * @param objectId the object in the path
 * @throws Invalid, naming the parameter
 */
export const readRequest = (query: Readonly<Record<string, unknown>>, objectId?: string): ObjectsRequest => {
  const limit = textOf(query, 'limit');
  if (limit !== undefined && !/^0*[1-9]\d*$/.test(limit)) throw invalid('limit', 'must be a whole number from 1');
  const asked = { limit: limit === undefined ? undefined : Math.min(Number(limit), MAX_LIMIT) };
  const next = textOf(query, 'next');
  // An object has one version, so no response about one object has a `next`.
  if (next !== undefined && objectId !== undefined) throw new Invalid(MALFORMED);
  // `next` contains the whole query, so what is beside it is ignored.
  if (next !== undefined) return { ...asked, next, addedAfter: null, ids: null, versions: null };
  const addedAfterText = textOf(query, 'added_after');
  const addedAfter = addedAfterText === undefined ? null : instantOf('added_after', addedAfterText);
  const types = matchesOf(query, 'match[type]');
  const specVersions = matchesOf(query, 'match[spec_version]');
  const versions = listOf(query, 'match[version]');
  const instants = versions
    ?.filter((each) => !VERSION_NAMES.has(each))
    .map((each) => instantOf('match[version]', each));
  const matched = matchesOf(query, 'match[id]');
  const isNone =
    types?.includes(OBJECT_TYPE) === false ||
    specVersions?.includes(SPEC_VERSION) === false ||
    (objectId !== undefined && matched?.includes(objectId) === false);
  const ids = objectId === undefined ? matched : [objectId];
  const uuids = ids?.flatMap((id) => {
    const uuid = id.startsWith(`${OBJECT_TYPE}--`) ? id.slice(OBJECT_TYPE.length + 2) : '';
    // Without hyphens, because `next` has to fit into a URL.
    return UUID.test(uuid) ? [uuid.replaceAll('-', '')] : [];
  });
  return {
    ...asked,
    next,
    // Nothing is added after the latest instant.
    addedAfter: isNone ? LATEST : addedAfter,
    ids: uuids === undefined ? null : [...new Set(uuids)],
    // Only the newest version of an object exists, and it is also the first.
    versions: instants === undefined || instants.length < versions!.length ? null : instants,
  };
};

interface ObjectsPage extends WrittenPage {
  /** Whether any of the requested objects exists, whatever the other parameters say. */
  readonly isFound: boolean;
}

/** Reads the next objects of a collection, in the order of their dates, as JSON. */
export class ReadObjects extends Query<AsOf<ObjectsPage>> {
  constructor(
    readonly organization: string,
    readonly collection: Collection,
    readonly request: ObjectsRequest,
    readonly form: PageForm,
    readonly minPosition?: number,
  ) {
    super();
  }
}

const FOREIGN = 'next is from another log, or from before a restore; start again without next';

/**
 * Where a page begins: after an object, or after a date. The last text is the id of the event of that object. Version 2.2
 * wrote a number other than 0 while events were parked: a retry by that version changed records before this place.
 */
type Start = readonly [date: number, position: number, parked: number, limit: number, wanted: string, event: string];
const START_SHAPE: Start = [0, 0, 0, 0, '', ''];
const MARK_LENGTH = 8;

const WAIT_MS = limit('end of the last millisecond of the log at TAXII', 2_000, 'ms', 'request', '503');
const POLL_MS = 50;

@QueryHandler(ReadObjects)
export class ReadObjectsHandler implements IQueryHandler<ReadObjects> {
  constructor(
    private readonly queries: RecordQueries,
    private readonly log: EventLog,
    private readonly slices: TimeSlices,
  ) {}

  /**
   * @throws Invalid if `next` is malformed or of another collection, Gone if it is from another log
   * @throws Unavailable also while the collections are being filled, or if `minPosition` is not reached in time
   * @throws as `RecordQueries.run`
   */
  async execute({ organization, collection, request, form, minPosition }: ReadObjects): Promise<AsOf<ObjectsPage>> {
    const logId = await this.log.id();
    const mark = createHash('sha256').update(logId).digest('base64url').slice(0, MARK_LENGTH);
    const cursors = new PageCursors(logId, 'taxii', MALFORMED);
    const scope = [organization, collection.id];
    const readNext = (next: string): Start => {
      const [, logMark, cursor] = new RegExp(`^([\\w-]{${MARK_LENGTH}})\\.([\\w-]+)$`).exec(next) ?? [];
      if (cursor === undefined) throw new Invalid(MALFORMED);
      if (logMark !== mark) throw new Gone(FOREIGN);
      const start = cursors.read(scope, cursor, START_SHAPE);
      if (start[2] !== 0) throw new Gone(FOREIGN);
      return start;
    };
    const start = request.next === undefined ? undefined : readNext(request.next);
    const wanted = start === undefined ? request : (JSON.parse(start[4]) as Wanted);
    const limit = request.limit ?? start?.[3] ?? DEFAULT_LIMIT;
    const [afterDate, afterPosition] = start ?? [wanted.addedAfter ?? -1, Number.MAX_SAFE_INTEGER];
    const { ids, versions } = wanted;
    const statement = NEXT_OBJECTS[ids !== null ? 'ids' : versions !== null ? 'versions' : 'all'];
    const parameters = { organization, kind: collection.kind, afterDate, afterPosition, limit, ids, versions };
    const read: AnswerFrom<PageRow> = async (send, _connection, isReplica) => {
      const [row] = await send<PageRow>(
        statement.query({ ...parameters, ids: ids && [...ids], versions: versions && [...versions] }),
      );
      const { upTo } = row!.moment;
      requireReached(isReplica, upTo, start?.[1] ?? null);
      // Asked after the page: an event that the log still has was also in the log when the page was read.
      if (start !== undefined && !(await this.log.has({ position: BigInt(start[1]), event: start[5] })))
        throw new Gone(FOREIGN);
      return row!;
    };
    const nextOf = ({ last, hasMore }: PageRow['moment']): Next | undefined => {
      if (last === null || !hasMore) return undefined;
      const rest = JSON.stringify({ addedAfter: null, ids, versions } satisfies Wanted);
      const end: Start = [last.addedAt, last.position, 0, limit, rest, last.eventId.slice(0, 8)];
      return { token: `${mark}.${cursors.write(scope, end)}`, place: JSON.stringify([mark, end]) };
    };
    /** @returns undefined if the position that the page must include is in the millisecond that is held back */
    const write = async ({ moment, objects }: PageRow): Promise<AsOf<ObjectsPage> | undefined> => {
      const { asOf, upTo, heldFrom, heldAt, isFound, last } = moment;
      if (heldFrom !== null && minPosition !== undefined && heldFrom <= minPosition) return undefined;
      const next = nextOf(moment);
      const work = writePage(objects?.split('\n') ?? [], collection, form, next);
      const result = { ...(await this.slices.run(organization, work)), isFound };
      if (next !== undefined) return { result, asOf: Math.min(asOf ?? 0, last!.storedAt), position: last!.position };
      const complete = momentOf({ asOf, position: upTo });
      if (heldAt === null) return { result, ...complete };
      return {
        result,
        asOf: Math.min(complete.asOf, heldAt),
        position: Math.min(complete.position, heldFrom! - 1),
      };
    };
    const key = JSON.stringify(['taxii', form.name, parameters, start?.[5], minPosition]);
    for (const until = performance.now() + WAIT_MS; ; await pause(POLL_MS)) {
      const page = await this.queries.run({ organization, key, read, minPosition, write });
      if (page !== undefined) return page;
      if (performance.now() > until) throw notReached();
    }
  }
}

/** @throws NotFound if the path names no collection */
export const collectionOf = (name: string): Collection => {
  const found = COLLECTIONS.find(({ id, alias }) => id === name || alias === name);
  if (found === undefined) throw new NotFound('Collection not found');
  return found;
};
