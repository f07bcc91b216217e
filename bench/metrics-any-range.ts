import { MS_PER_DAY } from '../src/events/instant.js';
import { BEGINNING, type EventLog } from '../src/event-log/event-log.js';
import { isUpstreamType } from '../src/events/event.js';
import { naiveCount, newestStates } from '../test/support/naive-count.js';
import { Random } from '../test/support/random.js';
import type { Sent } from '../test/support/upstream.js';
import { storedEvents, upstreamEvents } from './events.js';
import { DAY_COUNT, FIRST_DAY } from './facts.js';
import type { Goal } from './goal.js';
import { project } from './log-work.js';
import { askService } from './metrics-work.js';
import { openLog } from './services.js';
import { isDeepStrictEqual } from 'node:util';

const readSent = async (log: EventLog): Promise<Sent[]> => {
  const sent: Sent[] = [];
  for (let after = BEGINNING; ;) {
    const page = await log.readAll(after, 5_000);
    if (page.length === 0) return sent;
    for (const { type, data, metadata } of page)
      if (isUpstreamType(type))
        sent.push({ id: (metadata as { id: string }).id, type, data: data as Record<string, unknown> });
    after = page.at(-1)!.position;
  }
};

/**
 * Compares the metrics of random ranges with a naive count of the log. Half of the bounds are within a millisecond of
 * an event.
 */
export const metricsAnyRange: Goal = {
  name: 'G3d',
  run: async (bench) => {
    const { quick } = bench.sizes;
    const database = await bench.database();
    const log = await openLog(bench, database);
    const events = upstreamEvents(quick ? 2_000 : 50_000, 5);
    // Upstream may deliver events out of order and more than once.
    const random = new Random(5);
    const delivered = random.shuffled([...events, ...events.filter(() => random.chance(0.2))], 1_000);
    const entries = storedEvents(delivered);
    for (let from = 0; from < entries.length; from += 1_000) await log.appendAll(entries.slice(from, from + 1_000));
    const head = await log.head();
    await project({ database, log, events: entries.length }, database.pool, (at) => at >= head);
    bench.say('G3d: projected');

    const ofOrganization = new Map<string, ReturnType<typeof newestStates>>();
    for (const state of newestStates(await readSent(log))) {
      const organization = String(state.data['organization']);
      const known = ofOrganization.get(organization);
      if (known) known.push(state);
      else ofOrganization.set(organization, [state]);
    }
    const organizations = [...ofOrganization.keys()];
    const instants = events.map(({ data }) => Date.parse(String(data['createdAt'] ?? data['deletedAt'])));
    const instant = (): number =>
      random.chance(0.5)
        ? random.pick(instants) + random.int(3) - 1
        : FIRST_DAY * MS_PER_DAY + random.int(DAY_COUNT * MS_PER_DAY);
    const ask = askService(database);
    const ranges = quick ? 50 : 1_000;
    let differences = 0;
    for (let n = 0; n < ranges; n += 1) {
      const organization = random.pick(organizations);
      const [from, to] = [instant(), instant()].sort((a, b) => a - b) as [number, number];
      const counted = naiveCount(ofOrganization.get(organization)!, { organization, brand: undefined, from, to });
      if (!isDeepStrictEqual(counted, await ask({ from, to }, organization))) differences += 1;
    }
    return [
      {
        what: `${ranges.toLocaleString('en-US')} random inclusive ranges to the millisecond, differences`,
        against: 'a naive count of the log',
        measured: { lower: differences, median: differences, upper: differences },
        must: 0,
        more: false,
        note: `${entries.length.toLocaleString('en-US')} deliveries, shuffled, a fifth of the events repeated`,
      },
    ];
  },
};
