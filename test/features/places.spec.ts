import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { QueryBus } from '@nestjs/cqrs';
import { rebuild, rebuildOutdated } from '../../projections/engine/rebuild.js';
import { listParked, retryParked } from '../../projections/engine/parked.js';
import { register } from '../../projections/register/projection.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { redactAsset } from '../../src/cli/redacting/redact-asset.js';
import { applyRetention } from '../../src/cli/redacting/retention.js';
import { Conflict, NotFound, Unavailable } from '../../src/errors.js';
import { exportOrganization, writeAtomically } from '../../src/event-log/transfer/export-organization.js';
import { importOrganization } from '../../src/event-log/transfer/import-organization.js';
import { LISTED_KIND, numbersOf } from '../../src/events/listed-items.js';
import { createReadModels } from '../../src/read-models/tables.js';
import { eventMark, FeedIds } from '../../src/records/feed/feed-ids.js';
import { ReadFeed } from '../../src/records/feed/read-feed.js';
import { startApp, type TestApp } from '../support/app.js';
import { beginErasureEarlier } from '../support/begin-erasure-earlier.js';
import { eventually } from '../support/eventually.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { eventStores, type TestEventStore } from '../support/event-store.js';
import { seeds } from '../support/full-size.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { Random } from '../support/random.js';
import {
  EXAMPLES,
  recordedInOrder,
  sent,
  type Sent,
  sentReport,
  sentStatus,
  sentThreat,
  stored,
} from '../support/upstream.js';
import { WebhookReader } from '../webhooks/delivery/webhook-reader.js';

jest.setTimeout(3_600_000);

const DAY_MS = 86_400_000;
const KINDS = numbersOf();
/**
 * The histories that share a log and the calls of its operator, so that each has the redactions and erasures of others
 * around it.
 */
const HISTORIES_PER_LOG = 100;
/** One history in so many has an organization that is imported, and one in so many loses an organization. */
const HISTORIES_PER_IMPORT = 20;
const HISTORIES_PER_ERASURE = 40;
/** Readers that read at the same time. */
const AT_ONCE = 8;

interface Element {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data?: unknown;
}

/** What a reader has after an element: the records by kind and id. */
type Copy = ReadonlyMap<string, string>;

interface Received {
  readonly id: string;
  readonly copy: Copy;
}

const applied = (copy: Copy, { type, subject, data }: Element): Copy => {
  const next = new Map(copy);
  const key = `${type} ${subject}`;
  if (data === undefined) next.delete(key);
  else next.set(key, JSON.stringify(data));
  return next;
};

const inParallel = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  const waiting = items.values();
  const run = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
};

const sorted = (copy: Copy): string[] => [...copy].map((entry) => entry.join(' ')).sort();

/** A service in this process with its log, whose projection of records parks chosen events. */
class World {
  readonly poisoned = new Set<string>();
  /** The part of the next redactions that is parked. */
  parkedRedactions = 0;
  /** By organization and record: where a redacted record is, and the event of its state. */
  states: ReadonlyMap<string, { readonly position: number; readonly eventId: string }> = new Map();
  /** The events by position, also those that an event store has forgotten. */
  readonly events = new Map<number, string>();
  /** The positions of redactions. */
  private readonly redactions = new Set<number>();
  private read = -1n;
  ids!: FeedIds;
  app!: TestApp;
  database!: TestDatabase;
  projecting!: Projecting;
  webhooks!: WebhookReader;

  constructor(readonly store: TestEventStore | undefined) {}

  get env(): NodeJS.ProcessEnv {
    return { DATABASE_URL: this.database.url, ...(this.store && { EVENTSTORE_URL: this.store.url }) };
  }

  async start(): Promise<this> {
    this.database = await createDatabase();
    this.app = await startApp({ databaseUrl: this.database.url, env: this.env });
    const poisonable: typeof register = {
      ...register,
      prepare: async (events, recorded) => {
        const write = await register.prepare(events, recorded);
        for (const { id, event } of events)
          if (event.type === 'ContentRedacted' && parseInt(id.slice(0, 4), 16) < this.parkedRedactions * 0x1_00_00)
            this.poisoned.add(id);
        return async (transaction) => {
          if (events.some(({ id }) => this.poisoned.has(id))) throw new Error('The event is poisoned');
          await write(transaction);
        };
      },
    };
    const projections = PROJECTIONS.map((projection) => (projection.name === 'records' ? poisonable : projection));
    this.projecting = startProjecting(this.app.log, this.app.pool, projections);
    // The calls of the operator then find their events applied, and need not poll.
    this.app.log.observeAppends(async (append) => {
      const result = await append();
      await this.projecting.reached();
      return result;
    });
    this.ids = new FeedIds(await this.app.log.id());
    const isComplete = () =>
      this.feed('nobody').then(
        () => true,
        () => false,
      );
    await eventually('the lists are complete', isComplete);
    this.webhooks = await WebhookReader.start(this.database, this.app.log);
    return this;
  }

  async end(): Promise<void> {
    await this.webhooks.end();
    await this.projecting.stop();
    await this.app.close();
    await this.database.drop();
  }

  get session() {
    return { pool: this.app.pool, log: this.app.log };
  }

  async append(events: readonly Sent[]): Promise<void> {
    await this.app.log.appendAll(events.map(stored));
  }

  /** Reads what was appended, and the states of redacted records, whose events version 2.1 wrote in their ids. */
  async note(): Promise<void> {
    const names = Object.fromEntries(Object.entries(LISTED_KIND).map(([name, kind]) => [kind, name]));
    const text = 'select * from read.register where moved_by is not null and kind <> $1';
    const { rows } = await this.database.pool.query(text, [LISTED_KIND.dispute]);
    this.states = new Map(
      (rows as Record<string, unknown>[]).map((row) => [
        `${String(row['organization'])} ${names[row['kind'] as number]} ${String(row['id'])}`,
        { position: Number(row['position']), eventId: row['event_id'] as string },
      ]),
    );
    for (;;) {
      const page = await this.app.log.readAll(this.read, 3_000);
      if (page.length === 0) return;
      for (const { position, id, type } of page) {
        this.events.set(Number(position), id);
        if (type === 'ContentRedacted') this.redactions.add(Number(position));
      }
      this.read = page.at(-1)!.position;
    }
  }

  isRedaction(position: number): boolean {
    return this.redactions.has(position);
  }

  async feed(organization: string, lastEventId?: string, limit = 1_000): Promise<Element[]> {
    const signal = new AbortController().signal;
    const query = new ReadFeed({ organization, kinds: KINDS, limit, lastEventId, timeoutMs: 0, signal });
    const ask = () => this.app.app.get(QueryBus).execute(query);
    // A loaded event store may not respond in time; readers repeat the request then.
    const { result } = await ask().catch((error: unknown) =>
      error instanceof Unavailable ? ask() : Promise.reject(error),
    );
    return JSON.parse(result) as Element[];
  }

  async rows(): Promise<Record<string, unknown>[]> {
    const text = 'select * from read.register order by organization, kind, id';
    return (await this.database.pool.query(text)).rows as Record<string, unknown>[];
  }

  async parked() {
    return createReadModels(this.app.pool).selectFrom('parked_events').selectAll().orderBy('position').execute();
  }

  /** Applies all parked events. */
  async retry(): Promise<void> {
    this.parkedRedactions = 0;
    this.poisoned.clear();
    await retryParked(this.app.log, await listParked(this.app.pool));
    await this.projecting.reached();
    expect(await this.parked()).toEqual([]);
  }

  /** Rebuilds with a version that could apply what is parked. Changes nothing, so that readers miss nothing. */
  async rebuild(): Promise<void> {
    const [parked, before] = [await this.parked(), await this.rows()];
    await rebuild(this.session, [register]);
    expect(await this.parked()).toEqual(parked);
    expect(await this.rows()).toEqual(before);
  }

  async erase(organization: string): Promise<void> {
    await beginErasureEarlier();
    const words = ['organizations', 'erase', organization, '--confirm', organization];
    expect(await operatorCall(this.env, ...words)).toMatchObject({ code: 0 });
    // The log of the service then knows of the erasure.
    await this.projecting.reached();
  }

  /** Imports an organization, with these events, from another log. */
  async import(organization: string, events: readonly Sent[]): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'places-'));
    const path = join(folder, 'export');
    const nothing = (): void => {};
    const other = new InMemoryEventLog([...recordedInOrder(events)]);
    const text = exportOrganization(other, organization, nothing, nothing);
    await writeAtomically(path, text, new AbortController().signal);
    const file = await open(path);
    try {
      await importOrganization(this.app.log, file, { dryRun: false });
    } finally {
      await file.close();
      await rm(folder, { recursive: true });
    }
  }
}

/** A reader that follows the feed of an organization and keeps every id that it receives. */
class Reader {
  private last: string | undefined;
  private copy: Copy = new Map();
  readonly received: Received[] = [];

  constructor(
    private readonly world: World,
    readonly organization: string,
  ) {}

  /** Reads to the end. */
  async readOn(limit: number): Promise<void> {
    const { world, organization } = this;
    for (;;) {
      const page = await world.feed(organization, this.last, limit);
      if (page.length === 0) return;
      for (const element of page) this.take(element);
    }
  }

  private take(element: Element): void {
    const { world, organization } = this;
    this.copy = applied(this.copy, element);
    this.last = element.id;
    const { copy } = this;
    this.received.push({ id: element.id, copy });
    const place = world.ids.read(element.id);
    const event = world.events.get(place.position);
    expect([place.position, place.event]).toEqual([place.position, event && eventMark(event)]);
    // Version 2.1 named the event of the state at the position of its redaction.
    const state = world.states.get(`${organization} ${element.type.split('.').at(-1)} ${element.subject}`);
    if (state !== undefined && state.position === place.position && world.isRedaction(place.position))
      this.received.push({ id: world.ids.write([{ ...place, event: eventMark(state.eventId) }])[0]!, copy });
  }

  /** Asks with every id that was ever received, and follows the feed from there. @returns what is wrong */
  async ask(): Promise<unknown[]> {
    const { world, organization } = this;
    const all = await world.feed(organization);
    const complete = sorted(all.reduce(applied, new Map()));
    const wrong: unknown[] = [];
    if (JSON.stringify(sorted(this.copy)) !== JSON.stringify(complete))
      wrong.push(['copy', sorted(this.copy), complete]);
    const ids = [...new Map(this.received.map((one) => [one.id, one])).values()];
    await inParallel(ids, async ({ id, copy }) => {
      try {
        const rest = await world.feed(organization, id);
        const reached = sorted(rest.reduce(applied, copy));
        if (JSON.stringify(reached) !== JSON.stringify(complete)) wrong.push([world.ids.read(id), reached, complete]);
      } catch (error) {
        wrong.push([world.ids.read(id), String(error)]);
      }
    });
    return wrong;
  }
}

const assetOf = (label: number, n: number) => ({ type: 'URL', content: `c${n}.s${label}.example` });

/** One history of two organizations, and of a third one if it is imported. */
class History {
  private readonly random: Random;
  private readonly organizations: string[];
  private readers: Reader[];
  private sentSoFar: Sent[] = [];
  private disputes = 0;
  private delivered = new Set<number>();
  private webhookId = '';

  /** @param label the name of the log, for the assets, which all of its histories share */
  constructor(
    private readonly world: World,
    readonly seed: number,
    private readonly label: number,
  ) {
    this.random = new Random(seed);
    this.organizations = [`s${seed}-a`, `s${seed}-b`];
    this.readers = this.organizations.map((organization) => new Reader(world, organization));
  }

  private instant(): string {
    const { random } = this;
    return new Date(Date.now() - random.pick([400, 300, 200, 90, 10, 1]) * DAY_MS - random.int(9_999)).toISOString();
  }

  private asset(n = this.random.int(3)) {
    return assetOf(this.label, n);
  }

  private state(organization = this.random.pick(this.organizations)): Sent {
    const { random } = this;
    const n = random.int(3);
    const id = `r-${n}`;
    const [updatedAt, createdAt] = [this.instant(), new Date(Date.now() - 500 * DAY_MS).toISOString()];
    const own = { organization, asset: this.asset(), createdAt, updatedAt };
    const isDeletion = random.chance(0.15);
    const changeId = `s${this.seed}-${id}`;
    switch (random.int(5)) {
      case 0:
        return isDeletion
          ? sent('ReportDeleted', { organization, reportId: id, deletedAt: updatedAt })
          : sentReport(id, { organization, createdAt, updatedAt });
      case 1:
        return isDeletion
          ? sent('TakedownDeleted', { organization, takedownId: id, deletedAt: updatedAt })
          : sent('TakedownFiled', { ...EXAMPLES.TakedownFiled, ...own, brand: 'wallet', takedownId: id });
      case 2:
      case 3:
        return isDeletion
          ? sent('AssetStatusChangeDeleted', { changeId, asset: own.asset, deletedAt: updatedAt })
          : sentStatus(changeId, {
              asset: own.asset,
              createdAt: updatedAt,
              brandReviews: this.organizations
                .filter(() => random.chance(0.7))
                .map((each) => ({ organization: each, brand: 'wallet' })),
            });
      default:
        return isDeletion
          ? sent('ThreatDeleted', { organization, threatId: id, deletedAt: updatedAt })
          : sentThreat(id, own);
    }
  }

  private dispute(): Sent[] {
    const { random } = this;
    const dispute = { organization: random.pick(this.organizations), disputeId: `dp_${(this.disputes += 1)}` };
    const asset = this.asset();
    const verdict = { status: 'BLOCKED', source: 'own', sources: [], message: 'Blocked.' };
    const filed = { ...dispute, asset, content: asset.content, verdict, createdAt: this.instant() };
    const resolved = { ...dispute, outcome: 'ACCEPTED', resolvedAt: new Date().toISOString() };
    const events = [sent('DisputeFiled' as Sent['type'], filed), sent('DisputeResolved', resolved)];
    return random.chance(0.2) ? events.reverse() : events.slice(0, 1 + random.int(2));
  }

  /** The next events. */
  events(parks: boolean): Sent[] {
    const { world, random } = this;
    if (random.chance(0.15)) return this.dispute();
    const states = Array.from({ length: 1 + random.int(8) }, () => this.state());
    if (parks) for (const one of states.slice(0, 2)) world.poisoned.add(stored(one).event.id);
    const again = this.sentSoFar.filter(() => random.chance(0.1));
    this.sentSoFar.push(...states);
    return random.shuffled([...states, ...again]);
  }

  static async start(world: World, histories: readonly History[]): Promise<void> {
    const ids = await world.webhooks.create(histories.map(({ organizations }) => organizations[0]!));
    for (const [index, history] of histories.entries()) history.webhookId = ids[index]!;
  }

  /** Delivers to the webhook if it is its turn, and compares what was sent with what is new in the feed. */
  static async deliver(world: World, histories: readonly History[]): Promise<void> {
    const asked: { history: History; organization: string; webhookId: string; maxRequests: number; news: number[] }[] =
      [];
    await inParallel(histories, async (history) => {
      const { webhookId } = history;
      const organization = history.organizations[0]!;
      if (history.random.chance(0.5)) await world.webhooks.writeProgressAsVersion21(webhookId);
      const elements = (await world.feed(organization)).map(({ id }) => world.ids.read(id).position);
      const news = elements.filter((position) => !history.delivered.has(position));
      history.delivered = new Set(elements);
      asked.push({ history, organization, webhookId, maxRequests: 20 + 2 * elements.length, news });
    });
    const delivered = await world.webhooks.deliver(asked);
    for (const [index, { history, news }] of asked.entries()) {
      const { bodies, warnings } = delivered[index]!;
      const { seed } = history;
      const positions = bodies.flatMap((body) =>
        (JSON.parse(body) as Element[]).map(({ id }) => world.ids.read(id).position),
      );
      expect({ seed, warnings, positions }).toEqual({ seed, warnings: [], positions: news });
    }
  }

  /** Imports a third organization, which then sends like the others. */
  async import(): Promise<void> {
    const organization = `s${this.seed}-c`;
    this.organizations.push(organization);
    const events = Array.from({ length: 30 }, () => this.state(organization));
    const isOwn = ({ data }: Sent): boolean => data['organization'] === organization || 'changeId' in data;
    const own = [sentReport('r-imported', { organization }), ...events.filter(isOwn)];
    await this.world.import(organization, own);
    this.readers.push(new Reader(this.world, organization));
  }

  /** Erases the second organization, which then neither reads nor sends. */
  async erase(): Promise<void> {
    const erased = this.organizations[1]!;
    this.organizations.splice(1, 1);
    this.readers = this.readers.filter(({ organization }) => organization !== erased);
    this.sentSoFar = this.sentSoFar.filter(({ data }) => !JSON.stringify(data).includes(erased));
    await this.world.erase(erased);
  }

  async read(): Promise<void> {
    for (const reader of this.readers)
      if (this.random.chance(0.6)) await reader.readOn(this.random.pick([1, 3, 1_000, 1_000]));
  }

  get isDelivering(): boolean {
    return this.random.chance(0.3);
  }

  /** Asks with every id of the organizations. @returns what is wrong */
  async ask(): Promise<unknown[]> {
    const wrong: unknown[] = [];
    for (const reader of this.readers) {
      await reader.readOn(1_000);
      wrong.push(...(await reader.ask()).slice(0, 3));
    }
    return wrong;
  }
}

/** The histories of a log, and the calls of its operator, of which each is followed by a rebuild with some probability. */
class Operator {
  private readonly random: Random;
  readonly histories: readonly History[];

  constructor(
    private readonly world: World,
    seeds: readonly number[],
  ) {
    this.random = new Random(seeds[0]!);
    this.histories = seeds.map((seed) => new History(world, seed, seeds[0]!));
  }

  private async call(round: number): Promise<void> {
    const { world, random } = this;
    const { session } = world;
    switch ((round + random.int(2)) % 5) {
      case 0:
        try {
          await redactAsset(session, assetOf(this.histories[0]!.seed, random.int(3)).content, 'operator');
        } catch (error) {
          if (!(error instanceof NotFound) && !(error instanceof Conflict)) throw error;
        }
        return;
      case 1:
        await applyRetention(session, random.pick([100, 250, 350]) * DAY_MS, 'operator');
        return;
      case 2:
        return world.retry();
      case 3:
        world.parkedRedactions = Math.min(1, 3 / this.histories.length);
        return;
      default:
        return world.store?.scavenge();
    }
  }

  private async noteAndRead(): Promise<void> {
    await this.world.note();
    await inParallel(this.histories, (history) => history.read());
  }

  private some(historiesPer: number): History[] {
    const count = Math.ceil(this.histories.length / historiesPer);
    return this.random.shuffled(this.histories).slice(0, count);
  }

  async run(): Promise<void> {
    const { world, random, histories } = this;
    await History.start(world, histories);
    const rounds = 10 + random.int(3);
    const [importedIn, erasedIn] = [1 + random.int(rounds - 3), rounds - 1 - random.int(3)];
    for (let round = 0; round < rounds; round += 1) {
      const parks = random.chance(0.25);
      const parking = Math.min(0.5, 5 / histories.length);
      const events = histories.flatMap((history) => history.events(parks && random.chance(parking)));
      await world.append(random.shuffled(events, 20));
      if (round === importedIn) {
        // What is parked does not concern an organization that comes later.
        await world.retry();
        for (const history of this.some(HISTORIES_PER_IMPORT)) await history.import();
      }
      if (round > 1) await this.call(round);
      if (round === erasedIn) {
        // An erasure rewrites streams, and needs the parked events applied.
        await world.retry();
        for (const history of this.some(HISTORIES_PER_ERASURE)) await history.erase();
      }
      await this.noteAndRead();
      if (random.chance(0.5)) {
        await world.rebuild();
        await this.noteAndRead();
      }
      await History.deliver(
        world,
        histories.filter((history) => history.isDelivering),
      );
    }
    await world.retry();
    await world.rebuild();
    await this.noteAndRead();
    await History.deliver(world, histories);
    await History.deliver(world, histories);
    await world.store?.scavenge();
    const wrong: unknown[] = [];
    await inParallel(histories, async (history) => {
      const found = await history.ask();
      if (found.length > 0) wrong.push([history.seed, ...found]);
    });
    expect(wrong.slice(0, 3)).toEqual([]);
  }
}

const variants = [
  { name: 'PostgreSQL', open: async () => undefined, seeds: seeds(2, 300) },
  ...eventStores.map(({ name, open }) => ({ name, open, seeds: seeds(2, 100) })),
];

for (const { name, open, seeds: all } of variants)
  describe(`every place that a reader has, with the log in ${name}`, () => {
    it.each(
      Array.from({ length: Math.ceil(all.length / HISTORIES_PER_LOG) }, (_, n) => [
        all.slice(n * HISTORIES_PER_LOG, (n + 1) * HISTORIES_PER_LOG),
      ]).map(([some]) => [some![0]!, some!.at(-1)!, some!] as const),
    )('still says what it said, and webhooks send only what is new (seeds %i to %i)', async (_from, _to, some) => {
      const store = await open();
      const world = await new World(store).start();
      try {
        await new Operator(world, some).run();
      } finally {
        await world.end();
        await store?.release();
      }
    });
  });

describe('the places that an earlier version gave to redacted records', () => {
  it('stay valid, are written anew by the rebuild after the upgrade, and do not hide a lost event', async () => {
    const world = await new World(undefined).start();
    try {
      const { pool, log } = world.session;
      const asset = { type: 'URL', content: 'secret.example' };
      await world.append([
        sentThreat('t-1', { asset }),
        sentThreat('t-2', { asset: { ...asset, content: 'other.example' } }),
      ]);
      await redactAsset(world.session, 'secret.example', 'operator');
      await world.note();
      const placesOf = async () => (await world.feed('acme')).map(({ id }) => world.ids.read(id));
      const states = (await world.rows()).map((row) => eventMark(row['event_id'] as string));
      const [other, redacted] = (await placesOf()).map(({ position }) => position);
      await pool.query('update read.register set moved_by = null');
      await pool.query(`update read.checkpoints set version = version - 1 where projection = 'register'`);
      const [, old] = await world.feed('acme');
      expect(world.ids.read(old!.id)).toMatchObject({ position: redacted, event: states[0] });
      expect(await world.feed('acme', old!.id)).toEqual([]);

      const stop = new AbortController().signal;
      await rebuildOutdated(world.session, PROJECTIONS, { say: () => {}, warn: () => {} }, stop);
      const nameEvents = (places: readonly { position: number }[]) =>
        places.map(({ position }) => ({ position, event: eventMark(world.events.get(position)!) }));
      expect(await placesOf()).toEqual(nameEvents([{ position: other! }, { position: redacted! }]));
      expect(await world.feed('acme', old!.id)).toEqual([]);

      // Only the event of a state before the redaction, in its stream, is accepted.
      const has = (event: string, position: number) => log.has({ event, position: BigInt(position) });
      expect([await has(states[1]!, redacted!), await has('00000000', redacted!)]).toEqual([false, false]);
      expect(await has(states[0]!, other!)).toBe(false);
    } finally {
      await world.end();
    }
  });
});
