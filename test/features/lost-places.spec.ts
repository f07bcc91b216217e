import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Pool } from 'pg';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { sentThreat, stored } from '../support/upstream.js';

const app = sharedApp();
const projecting = sharedProjecting(app);

afterEach(() => {
  jest.restoreAllMocks();
});

/** Keeps the rows of the next statement with such a name, which the database has sent, until `go` is called. */
const holdRows = (named: RegExp): { readonly arrived: Promise<void>; readonly go: () => void } => {
  const { query } = Pool.prototype as unknown as { query: (...given: unknown[]) => Promise<unknown> };
  let go = (): void => {};
  const gone = new Promise<void>((resolve) => (go = resolve));
  const arrived = new Promise<void>((resolve) => {
    jest.spyOn(Pool.prototype, 'query').mockImplementation(async function (this: Pool, ...given: unknown[]) {
      const rows = await query.apply(this, given);
      if (!named.test((given[0] as { name?: string }).name ?? '')) return rows;
      resolve();
      await gone;
      return rows;
    } as never);
  });
  return { arrived, go };
};

const FEED = '/v2/organization/feed?types=threat&timeout=0';
const THREATS = '/taxii2/api/collections/threats';

/** What reads on from a place that a response gave to a client: the first request, the next one, and its statement. */
const READERS = [
  ['feed', `${FEED}&limit=1`, (body: { id: string }[]) => `${FEED}&lastEventId=${body[0]!.id}`, /^feed-next/],
  ...['objects', 'manifest'].map(
    (what) =>
      [
        `taxii-${what}`,
        `${THREATS}/${what}/?limit=1`,
        ({ next }: { next: string }) => `${THREATS}/${what}/?next=${encodeURIComponent(next)}`,
        /^taxii-/,
      ] as const,
  ),
] as const;

describe('A place that the log loses after the page was read, and before it is answered', () => {
  it.each(READERS)('is answered with 410 by the reader of %s', async (organization, first, following, statement) => {
    const key = await app.issueKey({ organization });
    for (const id of ['t-1', 't-2', 't-3']) {
      await app.log.appendAll([stored(sentThreat(id, { organization }))]);
      // TAXII never splits a millisecond between two pages.
      await setTimeout(5);
    }
    await projecting.reached();
    const { status, body } = await app.call(first, { key });
    expect(status).toBe(200);
    const next = following(body as never);
    expect((await app.call(next, { key })).status).toBe(200);

    const { arrived, go } = holdRows(statement);
    const asked = app.call(next, { key });
    await arrived;
    // Calls share their reads in order, so a question that was asked beside the page has its answer now.
    await app.log.has({ position: 0n, event: '' });
    // A failover: the log has other events at the positions of the lost ones.
    await app.pool.query(`update log.events set event_id = gen_random_uuid() where stream like $1`, [
      `threat-${organization}:%`,
    ]);
    go();
    expect((await asked).status).toBe(410);
  });
});

describe('The readers of a place', () => {
  it('are those of the table in docs/internals/event-log.md', () => {
    const root = join(import.meta.dirname, '../..');
    const asks = /\blog\.(?:has|subscribe)\(|^export const followStream/m;
    const files = ['src', 'projections'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${folder}/${name}`),
    );
    const readers = files.filter((file) => asks.test(readFileSync(join(root, file), 'utf8')));
    const page = readFileSync(join(root, 'docs/internals/event-log.md'), 'utf8');
    const table = page.split('## Who reads a place')[1]!.split('These have')[0]!;
    expect(new Set(readers)).toEqual(new Set([...table.matchAll(/`([^`]+\.ts)`/g)].map(([, file]) => file)));
  });
});
