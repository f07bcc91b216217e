import { describe, expect, it, jest } from '@jest/globals';
import { QueryBus } from '@nestjs/cqrs';
import { rebuild, rebuildOutdated } from '../../projections/engine/rebuild.js';
import { retryParked } from '../../projections/engine/parked.js';
import { records } from '../../projections/records/projection.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { redactAsset } from '../../src/cli/redacting/redact-asset.js';
import { applyRetention } from '../../src/cli/redacting/retention.js';
import { Conflict, Gone, NotFound } from '../../src/errors.js';
import { LISTED_KIND, numbersOf } from '../../src/events/listed-items.js';
import { createReadModels } from '../../src/read-models/tables.js';
import { eventMark, FeedIds } from '../../src/records/feed/feed-elements.js';
import { ReadFeed } from '../../src/records/feed/read-feed.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventually } from '../support/eventually.js';
import { eventStores, type TestEventStore } from '../support/event-store.js';
import { seeds } from '../support/full-size.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, startProjecting } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { sent, type Sent, sentReport, sentStatus, sentThreat, stored, EXAMPLES } from '../support/upstream.js';
import { WebhookReader } from '../webhooks/delivery/webhook-reader.js';

jest.setTimeout(3_600_000);

const DAY_MS = 86_400_000;
const KINDS = numbersOf();
/** The histories that share a log, so that each has the redactions and erasures of others around it. */
const HISTORIES_PER_LOG = 10;

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
  /** How many times parked events had been applied when the id was received. */
  readonly unparked: number;
}

const applied = (copy: Copy, { type, subject, data }: Element): Copy => {
  const next = new Map(copy);
  const key = `${type} ${subject}`;
  if (data === undefined) next.delete(key);
  else next.set(key, JSON.stringify(data));
  return next;
};

const sorted = (copy: Copy): string[] => [...copy].map((entry) => entry.join(' ')).sort();

/** A service in this process with its log, whose projection of records parks chosen events. */
class World {
  readonly poisoned = new Set<string>();
  parksRedactions = false;
  unparked = 0;
  /** The events by position, also those that an event store has forgotten. */
  readonly events = new Map<number, string>();
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
    const poisonable: typeof records = {
      ...records,
      prepare: async (events) => {
        const write = await records.prepare(events);
        for (const { id, event } of events)
          if (this.parksRedactions && event.type === 'ContentRedacted') this.poisoned.add(id);
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

  /** Reads what was appended. */
  async note(): Promise<void> {
    for (;;) {
      const page = await this.app.log.readAll(this.read, 3_000);
      if (page.length === 0) return;
      for (const { position, id } of page) this.events.set(Number(position), id);
      this.read = page.at(-1)!.position;
    }
  }

  async feed(organization: string, lastEventId?: string, limit = 1_000): Promise<Element[]> {
    const signal = new AbortController().signal;
    const query = new ReadFeed(organization, KINDS, limit, lastEventId, 0, signal);
    return JSON.parse((await this.app.app.get(QueryBus).execute(query)).result) as Element[];
  }

  async rows(): Promise<Record<string, unknown>[]> {
    const text = 'select * from read.listed_records order by organization, kind, id';
    return (await this.database.pool.query(text)).rows as Record<string, unknown>[];
  }

  async parked() {
    return createReadModels(this.app.pool).selectFrom('parked_events').selectAll().orderBy('position').execute();
  }

  /** Applies all parked events. */
  async retry(): Promise<void> {
    this.parksRedactions = false;
    this.poisoned.clear();
    for (const parked of await this.parked()) {
      expect(await retryParked(this.app.pool, records, parked)).toBeUndefined();
      this.unparked += 1;
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

  /** Reads to the end, and starts again after 410, which only a retry of a parked event may cause. */
  async readOn(limit: number): Promise<void> {
    const { world, organization } = this;
    for (;;) {
      let page: Element[];
      try {
        page = await world.feed(organization, this.last, limit);
      } catch (error) {
        if (!(error instanceof Gone)) throw error;
        expect({ organization, unparked: world.unparked }).not.toEqual({
          organization,
          unparked: this.received.at(-1)!.unparked,
        });
        [this.last, this.copy] = [undefined, new Map()];
        continue;
      }
      if (page.length === 0) return;
      for (const element of page) this.take(element);
    }
  }

  private take(element: Element): void {
    const { world } = this;
    this.copy = applied(this.copy, element);
    this.last = element.id;
    const received = { copy: this.copy, unparked: world.unparked };
    this.received.push({ id: element.id, ...received });
    const place = world.ids.read(element.id);
    const event = world.events.get(place.position);
    expect([place.position, place.event]).toEqual([place.position, event && eventMark(event)]);
    // Version 2.1 named the event of the state at the position of its redaction.
    const state = this.states.get(`${element.type.split('.').at(-1)} ${element.subject}`);
    if (state !== undefined && state.position === place.position)
      this.received.push({ id: world.ids.write([{ ...place, event: eventMark(state.eventId) }])[0]!, ...received });
  }

  private states = new Map<string, { readonly position: number; readonly eventId: string }>();

  /** Learns the events of the states of redacted records, under which version 2.1 wrote their ids. */
  async learnStates(): Promise<void> {
    const names = Object.fromEntries(Object.entries(LISTED_KIND).map(([name, kind]) => [kind, name]));
    for (const row of await this.world.rows())
      if (row['organization'] === this.organization && row['moved_by'] !== null && row['kind'] !== LISTED_KIND.dispute)
        this.states.set(`${names[row['kind'] as number]} ${String(row['id'])}`, {
          position: Number(row['position']),
          eventId: row['event_id'] as string,
        });
  }

  /** Asks with every id that was ever received, and follows the feed from there. @returns what is wrong */
  async ask(): Promise<unknown[]> {
    const { world, organization } = this;
    const all = await world.feed(organization);
    const complete = sorted(all.reduce(applied, new Map()));
    const wrong: unknown[] = [];
    if (JSON.stringify(sorted(this.copy)) !== JSON.stringify(complete))
      wrong.push(['copy', sorted(this.copy), complete]);
    for (const { id, copy, unparked } of new Map(this.received.map((one) => [one.id, one])).values())
      try {
        const rest = await world.feed(organization, id);
        const reached = sorted(rest.reduce(applied, copy));
        if (JSON.stringify(reached) !== JSON.stringify(complete)) wrong.push([world.ids.read(id), reached, complete]);
      } catch (error) {
        if (!(error instanceof Gone) || unparked === world.unparked) wrong.push([world.ids.read(id), String(error)]);
      }
    return wrong;
  }
}

/** One history of two organizations. */
class History {
  private readonly random: Random;
  private readonly organizations: readonly [string, string];
  private readonly readers: readonly Reader[];
  private readonly sentSoFar: Sent[] = [];
  private disputes = 0;
  private delivered = new Set<number>();
  private unparkedAtDelivery = 0;
  private webhookId = '';

  constructor(
    private readonly world: World,
    private readonly seed: number,
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
    return { type: 'URL', content: `c${n}.s${this.seed}.example` };
  }

  private state(): Sent {
    const { random } = this;
    const organization = random.pick(this.organizations);
    const n = random.int(3);
    const id = `r-${n}`;
    const [updatedAt, createdAt] = [this.instant(), new Date(Date.now() - 500 * DAY_MS).toISOString()];
    const own = { organization, asset: this.asset(), createdAt, updatedAt };
    const isDeletion = random.chance(0.15);
    const changeId = `s${this.seed}-${id}`;
    // An entry of the status history is about one asset.
    const entryAsset = this.asset(n);
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
          ? sent('AssetStatusChangeDeleted', { changeId, asset: entryAsset, deletedAt: updatedAt })
          : sentStatus(changeId, {
              asset: entryAsset,
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

  private async step(): Promise<void> {
    const { world, random } = this;
    switch (random.int(8)) {
      case 0:
        return world.append(this.dispute());
      case 1:
        try {
          await redactAsset(world.session, this.asset().content, 'operator');
        } catch (error) {
          if (!(error instanceof NotFound) && !(error instanceof Conflict)) throw error;
        }
        return;
      case 2:
        await applyRetention(world.session, random.pick([100, 250, 350]) * DAY_MS, 'operator');
        return;
      case 3:
        return world.retry();
      case 4: {
        // The next events, or the next redactions, are parked.
        const events = Array.from({ length: 2 }, () => this.state());
        world.parksRedactions = random.chance(0.5);
        if (!world.parksRedactions) for (const one of events) world.poisoned.add(stored(one).event.id);
        return world.append(events);
      }
      default: {
        const states = Array.from({ length: 1 + random.int(8) }, () => this.state());
        this.sentSoFar.push(...states);
        const again = this.sentSoFar.filter(() => random.chance(0.1));
        return world.append(random.shuffled([...states, ...again]));
      }
    }
  }

  private async rebuild(): Promise<void> {
    const { world } = this;
    const parked = (await world.parked()).length;
    const before = await world.rows();
    await rebuild(world.session, [records]);
    // The rebuild applies what was parked.
    world.unparked += parked;
    if (parked === 0) expect(await world.rows()).toEqual(before);
  }

  /** Delivers, and compares what was sent with what is new in the feed. */
  private async deliver(): Promise<void> {
    const { world } = this;
    const [organization] = this.organizations;
    if (this.webhookId === '') this.webhookId = await world.webhooks.create(organization);
    if (this.random.chance(0.5)) await world.webhooks.writeProgressAsVersion21(this.webhookId);
    const elements = (await world.feed(organization)).map(({ id }) => world.ids.read(id).position);
    const news = elements.filter((position) => !this.delivered.has(position));
    const { bodies, warnings } = await world.webhooks.deliver(organization, this.webhookId, 20 + 2 * elements.length);
    const positions = bodies.flatMap((body) =>
      (JSON.parse(body) as Element[]).map(({ id }) => world.ids.read(id).position),
    );
    const expected = { seed: this.seed, warnings: [], positions: news };
    if (world.unparked === this.unparkedAtDelivery) expect({ seed: this.seed, warnings, positions }).toEqual(expected);
    else expect([warnings, news.filter((position) => !positions.includes(position))]).toEqual([[], []]);
    this.delivered = new Set(elements);
    this.unparkedAtDelivery = world.unparked;
  }

  async run(): Promise<void> {
    const { world, random } = this;
    for (let steps = 8 + random.int(6); steps > 0; steps -= 1) {
      await this.step();
      await world.note();
      await this.read();
      if (random.chance(0.25)) {
        await this.rebuild();
        await this.read();
      }
      if (random.chance(0.3)) await this.deliver();
      if (world.store !== undefined && random.chance(0.15)) await world.store.scavenge();
    }
    await world.retry();
    await this.rebuild();
    await this.read();
    await this.deliver();
    await this.deliver();
    expect([this.seed, await this.ask()]).toEqual([this.seed, []]);
  }

  private async read(): Promise<void> {
    for (const reader of this.readers) {
      await reader.learnStates();
      if (this.random.chance(0.8)) await reader.readOn(this.random.pick([1, 3, 1_000]));
    }
  }

  /** Asks with every id of both organizations. @returns what is wrong */
  async ask(): Promise<unknown[]> {
    return [...(await this.askKept()), ...(await this.askAs(this.readers[1]!))];
  }

  /** Asks with every id of the organization that is not erased. */
  askKept(): Promise<unknown[]> {
    return this.askAs(this.readers[0]!);
  }

  private async askAs(reader: Reader): Promise<unknown[]> {
    await reader.learnStates();
    await reader.readOn(1_000);
    return (await reader.ask()).slice(0, 3);
  }

  get erased(): string {
    return this.organizations[1];
  }
}

const variants = [
  { name: 'PostgreSQL', open: async () => undefined, seeds: seeds(4, 10_000) },
  ...eventStores.map(({ name, open }) => ({ name, open, seeds: seeds(3, 300) })),
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
        const histories = some.map((seed) => new History(world, seed));
        for (const history of histories) await history.run();
        const { erased } = histories[0]!;
        const words = ['organizations', 'erase', erased, '--confirm', erased];
        expect(await operatorCall(world.env, ...words)).toMatchObject({ code: 0 });
        await store?.scavenge();
        await world.note();
        const wrong = await histories[0]!.askKept();
        for (const history of histories.slice(1)) wrong.push(...(await history.ask()));
        expect(wrong).toEqual([]);
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
      await pool.query('update read.listed_records set moved_to = null, moved_by = null');
      await pool.query(`update read.checkpoints set version = version - 1 where projection = 'records'`);
      const [, old] = await world.feed('acme');
      expect(world.ids.read(old!.id)).toMatchObject({ position: redacted, event: states[0] });
      expect(await world.feed('acme', old!.id)).toEqual([]);

      const stop = new AbortController().signal;
      await rebuildOutdated(world.session, PROJECTIONS, { say: () => {}, warn: () => {} }, stop);
      const nameEvents = (places: readonly { position: number }[]) =>
        places.map(({ position }) => ({ position, event: eventMark(world.events.get(position)!), parked: 0 }));
      expect(await placesOf()).toEqual(nameEvents([{ position: other! }, { position: redacted! }]));
      expect(await world.feed('acme', old!.id)).toEqual([]);

      // Only the event of a state before the redaction, in its stream, is accepted.
      const has = (event: string, position: number) => log.has({ event, position: BigInt(position) });
      expect([await has(states[1]!, redacted!), await has('00000000', redacted!)]).toEqual([false, false]);
      expect(await has(states[0]!, other!)).toBe(false);

      // A projector of the previous version changes the row and leaves `moved_by`.
      await pool.query(`update read.listed_records set position = $1, event_id = $2 where id = 't-1'`, [
        Number(await log.head()),
        world.events.get(Number(await log.head())),
      ]);
      const places = await placesOf();
      expect(places).toEqual(nameEvents(places));
    } finally {
      await world.end();
    }
  });
});
