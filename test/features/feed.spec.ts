import { beforeAll, describe, expect, it } from '@jest/globals';
import { listParked, retryParked } from '../../projections/engine/parked.js';
import { rebuild } from '../../projections/engine/rebuild.js';
import { register } from '../../projections/register/projection.js';
import { SealedBlocks } from '../../src/http/sealed-blocks.js';
import type { ApiResponse } from '../support/call.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { type Sent, sentThreat, stored } from '../support/upstream.js';

const app = sharedApp();
const projecting = sharedProjecting(app);
let acme: string;

const T = '2026-03-01T00:00:00.000Z';
const MAX_BYTES = 4 * 1024 * 1024;

const threat = (threatId: string, content = `${threatId}.example`): Sent =>
  sentThreat(threatId, { asset: { type: 'URL', content }, status: 'BLOCKED', createdAt: T, updatedAt: T });
const report = async (...events: readonly Sent[]): Promise<void> => {
  await app.log.appendAll(events.map(stored));
  await projecting.reached();
};
const feed = (last?: string, query = ''): Promise<ApiResponse> =>
  app.call(`/v2/organization/feed?${last === undefined ? '' : `lastEventId=${last}`}${query}`, { key: acme });
const subjects = ({ body }: ApiResponse): string[] => body.map(({ subject }: { subject: string }) => subject);
/** Returns all elements of the feed. */
const allElements = async (): Promise<{ id: string; subject: string }[]> => {
  const all = [];
  for (let last: string | undefined; ; last = all.at(-1).id) {
    const { body } = await feed(last);
    if (body.length === 0) return all;
    all.push(...body);
  }
};
const gone = {
  status: 410,
  body: {
    code: 'GONE',
    message: 'lastEventId is from another log, or from before a restore; start again without lastEventId',
  },
};

beforeAll(async () => {
  acme = await app.issueKey({ organization: 'acme' });
});

describe('The feed', () => {
  it('limits a response to 4 MiB, with an X-As-Of that covers only its elements, and continues after its last element', async () => {
    // Each byte of the text takes six bytes in JSON.
    const large = Array.from({ length: 400 }, (_, n) => threat(`large-${n}`, '\u0001'.repeat(4_000)));
    await report(...large);
    const seen: string[] = [];
    let answers = 0;
    for (let last: string | undefined; ; answers += 1) {
      const answer = await feed(last);
      const bytes = Buffer.byteLength(JSON.stringify(answer.body));
      if (answer.body.length === 0) break;
      expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
      const { id, time } = answer.body.at(-1);
      const isWhole = seen.push(...subjects(answer)) === large.length;
      if (!isWhole) expect(bytes).toBeGreaterThan(0.9 * MAX_BYTES);
      if (!isWhole) expect(answer.headers.get('x-as-of')! <= time).toBe(true);
      last = id;
    }
    expect(seen).toEqual(large.map(({ data }) => data['threatId']));
    expect(answers).toBe(3);
  });

  it('returns a parked event after everything else once it is retried, to every client', async () => {
    await app.pool.query(`alter table read.register add constraint no_poison check (id <> 'poison')`);
    await report(threat('good-1'), threat('poison'), threat('good-2'), threat('good-3'));
    expect(projecting.troubles.join()).toContain('no_poison');
    const [first, second, third] = (await allElements()).slice(-3);
    expect([first!.subject, second!.subject, third!.subject]).toEqual(['good-1', 'good-2', 'good-3']);
    await app.pool.query('alter table read.register drop constraint no_poison');
    const waiting = feed(third!.id, '&timeout=20000');
    await retryParked(
      app.log,
      (await listParked(app.pool)).filter(({ projection }) => projection === 'register'),
    );
    await projecting.reached();
    expect(subjects(await waiting)).toEqual(['poison']);
    expect(subjects(await feed(first!.id))).toEqual(['good-2', 'good-3', 'poison']);
    const [retried] = (await feed(third!.id)).body;
    expect((await feed(retried.id)).body).toEqual([]);
    await rebuild({ pool: app.pool, log: app.log }, [register]);
    expect(subjects(await feed(second!.id))).toEqual(['good-3', 'poison']);
    expect((await feed(retried.id)).body).toEqual([]);
  });

  it('returns 410 for an id that version 2.2 gave out while events were parked', async () => {
    const [{ id }] = (await feed(undefined, '&limit=1')).body;
    const blocks = new SealedBlocks(`feed of ${await app.log.id()}`);
    const errors = { malformed: () => new Error('malformed'), foreign: () => new Error('foreign') };
    const plain = blocks.open(id, errors);
    const write = (parked: number): string => {
      plain.writeInt32BE(parked, 12);
      return blocks.seal(plain)[0]!;
    };
    expect((await feed(write(0))).status).toBe(200);
    expect(await feed(write(1))).toMatchObject(gone);
  });

  it('returns 410 to a client that has read events which a restore removed', async () => {
    await report(threat('kept'), threat('lost-1'), threat('lost-2'));
    const [kept, lost, last] = (await allElements()).slice(-3);
    const waiting = feed(last!.id, '&timeout=20000');
    await projecting.stop();
    const { rows } = await app.pool.query<{ position: number }>(
      `delete from log.events where data->>'threatId' like 'lost-%' returning position`,
    );
    await app.pool.query(
      `truncate ${[...register.tables, 'checkpoints'].map((table) => `read.${table}`).join()};
       truncate read.records, read.facts, read.days, read.type_days`,
    );
    projecting.start();
    await projecting.reached();
    // The last id is beyond the end of the log. Later, another event has the position of the first lost event.
    expect(await feed(last!.id)).toMatchObject(gone);
    await report(threat('other-1'), threat('other-2'), threat('other-3'));
    const [atLost] = await app.log.readAll(BigInt(rows[0]!.position) - 1n, 1);
    expect(atLost).toMatchObject({ position: BigInt(rows[0]!.position), data: { threatId: 'other-1' } });
    for (const each of [lost, last]) expect(await feed(each!.id)).toMatchObject(gone);
    expect(subjects(await feed(kept!.id))).toEqual(['other-1', 'other-2', 'other-3']);
    const woken = await waiting;
    expect([woken.status, woken.status === 200 ? subjects(woken) : []]).toEqual([410, []]);
  });
});
