import type { Command } from 'commander';
import { EventLog, WrongExpectedRevision } from '../event-log/event-log.js';
import { type EventOf, parseEvent } from '../events/event.js';
import { newUpstreamEvent, requireValid } from '../event-log/new-event.js';
import { isLater, recordOf } from '../events/record.js';
import { streamOf } from '../events/streams.js';
import { Conflict, NotFound } from '../errors.js';
import type { BrandRegistered, BrandRemoved, FeatureFlagChanged } from '../events/types/organizations.js';
import { databaseTime } from '../postgres/clock.js';
import { createReadModels } from '../read-models/tables.js';
import { prints, type Result, table } from './output.js';
import { type Session, withDatabase, withLog } from './session.js';

type Change = EventOf<'BrandRegistered' | 'BrandRemoved' | 'FeatureFlagChanged'>;

const SOURCE = 'urn:threat-protection:operator';
const TYPES: ReadonlySet<string> = new Set<Change['type']>(['BrandRegistered', 'BrandRemoved', 'FeatureFlagChanged']);
const isChange = (type: string): type is Change['type'] => TYPES.has(type);
const PAGE_SIZE = 500;
const MAX_ATTEMPTS = 5;

/** The newest change in a stream, whether upstream reported it or an operator made it, and the revision of the stream. */
interface NewestChange {
  readonly newest: Change | undefined;
  readonly revision: bigint | 'no-stream';
}

const readNewestChange = async (log: EventLog, stream: string): Promise<NewestChange> => {
  let newest: { readonly event: Change; readonly version: number; readonly eventId: string } | undefined;
  let next = 0n;
  for (;;) {
    const page = await log.readStream(stream, next, PAGE_SIZE);
    for (const { type, data, id, revision } of page) {
      next = revision + 1n;
      if (!isChange(type)) continue;
      const { event } = parseEvent(type, data);
      if (!event) continue;
      const found = { event, version: recordOf(event).version, eventId: id };
      if (!newest || isLater(found, newest)) newest = found;
    }
    if (page.length < PAGE_SIZE) return { newest: newest?.event, revision: next === 0n ? 'no-stream' : next - 1n };
  }
};

/**
 * Appends an operator's change of a brand or flag as an event of the type that upstream reports.
 * @param sample any event of the stream to change
 * @param decide receives the newest change and the time of the operator's change in ms, by the database's clock; returns undefined if nothing
 *   changes
 * @returns whether an event was appended
 * @throws Conflict if other writers changed the stream during each of five attempts
 */
const appendOperatorChange = async <C extends Change>(
  { log, pool }: Session,
  sample: C,
  decide: (newest: C | undefined, now: number) => C | undefined,
): Promise<boolean> => {
  const stream = streamOf(sample);
  for (let attempt = 1; ; attempt++) {
    const { newest, revision } = await readNewestChange(log, stream);
    // The change must be later than the newest state, even if the clock of upstream is ahead.
    const now = Math.max(await databaseTime(pool), (newest?.data.updatedAt ?? 0) + 1);
    const event = decide(newest as C | undefined, now);
    if (event === undefined) return false;
    try {
      await log.append(stream, revision, [newUpstreamEvent(SOURCE, event, now).event]);
      return true;
    } catch (error) {
      if (!(error instanceof WrongExpectedRevision)) throw error;
      if (attempt === MAX_ATTEMPTS) throw new Conflict(`${stream} is being changed concurrently; try again`);
    }
  }
};

/** A brand. The slugs `organization` and `brand` identify the brand; `name` is the display name. */
export interface NamedBrand {
  readonly organization: string;
  readonly brand: string;
  readonly name?: string | undefined;
}

type BrandChanged = BrandRegistered | BrandRemoved;

const brandEvent = (
  type: BrandChanged['type'],
  { organization, brand, name }: NamedBrand,
  updatedAt: number,
): BrandChanged => requireValid({ type, data: { organization, brand, name, updatedAt } });

/**
 * Registers or renames an organization's brand.
 * @returns whether anything changed
 * @throws Invalid if the ingestion endpoint would reject the event
 */
const addBrand = (session: Session, brand: NamedBrand): Promise<boolean> =>
  appendOperatorChange<BrandChanged>(session, brandEvent('BrandRegistered', brand, 0), (newest, now) => {
    const registered = newest?.type === 'BrandRegistered' ? newest : undefined;
    const name = brand.name ?? registered?.data.name;
    if (registered && registered.data.name === name) return undefined;
    return brandEvent('BrandRegistered', { ...brand, name }, now);
  });

/**
 * Removes a brand of an organization.
 * @returns whether anything changed
 * @throws Invalid if the ingestion endpoint would reject the event; NotFound if the organization has no such brand
 */
const removeBrand = (session: Session, { organization, brand }: NamedBrand): Promise<boolean> =>
  appendOperatorChange<BrandChanged>(session, brandEvent('BrandRemoved', { organization, brand }, 0), (newest, now) => {
    if (newest?.type !== 'BrandRegistered') throw new NotFound(`${organization} has no brand ${brand}`);
    return brandEvent('BrandRemoved', { organization, brand, name: newest.data.name }, now);
  });

type Flag = Omit<FeatureFlagChanged['data'], 'updatedAt'>;

const flagEvent = (flag: Flag, updatedAt: number): FeatureFlagChanged =>
  requireValid({ type: 'FeatureFlagChanged', data: { ...flag, updatedAt } });

/**
 * Switches a feature on or off for an organization.
 * @returns whether anything changed
 * @throws Invalid if the ingestion endpoint would reject the event
 */
const changeFeatureFlag = (session: Session, flag: Flag): Promise<boolean> =>
  appendOperatorChange(session, flagEvent(flag, 0), (newest, now) =>
    (newest?.data.enabled ?? false) === flag.enabled ? undefined : flagEvent(flag, now),
  );

const add = ({ organization, brand, name }: NamedBrand): Promise<Result> =>
  withLog(async (session) => {
    const changed = await addBrand(session, { organization, brand, name });
    return {
      lines: [`${organization} ${changed ? 'now has' : 'already has'} brand ${brand}`],
      json: { organization, brand, changed },
    };
  });

const remove = ({ organization, brand }: NamedBrand): Promise<Result> =>
  withLog(async (session) => {
    const changed = await removeBrand(session, { organization, brand });
    return { lines: [`${organization} no longer has brand ${brand}`], json: { organization, brand, changed } };
  });

const listBrands = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const brands = await createReadModels(pool)
      .selectFrom('brands')
      .select(['organization', 'brand', 'name'])
      .where('registered', 'is', true)
      .orderBy('organization')
      .orderBy('brand')
      .execute();
    return { lines: table(['organization', 'brand', 'name'], brands.map(Object.values)), json: brands };
  });

const ORGANIZATION = ['--organization <slug>', 'the organization that owns the brand'] as const;
const BRAND = ['--brand <slug>', 'the brand'] as const;

export const addBrandCommands = (program: Command): void => {
  const brands = program.command('brands').description('brands of organizations: add, remove, list');
  prints(
    brands
      .command('add')
      .description('register or rename a brand')
      .requiredOption(...ORGANIZATION)
      .requiredOption(...BRAND)
      .option('--name <text>', 'the display name of the brand'),
    add,
  );
  prints(
    brands
      .command('remove')
      .description('remove a brand; its events stay in the log')
      .requiredOption(...ORGANIZATION)
      .requiredOption(...BRAND),
    remove,
  );
  prints(
    brands.command('list').description('list the registered brands; changes of the last moment may be missing'),
    listBrands,
  );
};

interface FlagOptions {
  readonly organization: string;
  readonly flag: string;
}

const change =
  (enabled: boolean) =>
  ({ organization, flag }: FlagOptions): Promise<Result> =>
    withLog(async (session) => {
      const changed = await changeFeatureFlag(session, { organization, flag, enabled });
      const state = enabled ? 'enabled' : 'disabled';
      return {
        lines: [`${flag} ${changed ? 'is now' : 'was already'} ${state} for ${organization}`],
        json: { organization, flag, enabled, changed },
      };
    });

const listFlags = (): Promise<Result> =>
  withDatabase(async (pool) => {
    const flags = await createReadModels(pool)
      .selectFrom('feature_flags')
      .select(['organization', 'flag', 'enabled'])
      .orderBy('organization')
      .orderBy('flag')
      .execute();
    return { lines: table(['organization', 'flag', 'enabled'], flags.map(Object.values)), json: flags };
  });

export const addFlagCommands = (program: Command): void => {
  const flags = program.command('flags').description('feature flags of organizations: enable, disable, list');
  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    prints(
      flags
        .command(name)
        .description(`${name} a feature for an organization`)
        .requiredOption('--organization <slug>', 'the organization')
        .requiredOption('--flag <flag>', 'the feature, such as brands-metrics'),
      change(enabled),
    );
  prints(
    flags.command('list').description('list every flag that was ever set; changes of the last moment may be missing'),
    listFlags,
  );
};
