import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import { dayOf, formatDay } from '../../src/events/instant.js';
import { addIngestUsage } from '../../src/read-models/ingest-usage.js';
import { createDatabase } from '../support/postgres.js';

const CLI = join(import.meta.dirname, '../../dist/src/cli.js');

// Each call is a process of its own; on a busy machine one takes seconds.
jest.setTimeout(60_000);

it('organizations usage says what each has sent today, and its quota', async () => {
  const database = await createDatabase();
  const call = (...words: string[]): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      const env = { ...process.env, DATABASE_URL: database.url, INGEST_BYTES_PER_DAY: '0' };
      const child = execFile(process.execPath, [CLI, 'organizations', 'usage', ...words], { env }, (_error, out, err) =>
        resolve({ code: child.exitCode ?? -1, out, err }),
      );
    });
  try {
    const day = dayOf(Date.now());
    const acme = { organization: 'acme', events: 7, bytes: 700 };
    const other = { organization: 'other', events: 9, bytes: 900 };
    await addIngestUsage(database.pool, day, [acme, other]);
    await addIngestUsage(database.pool, day - 1, [{ ...acme, events: 1 }]);
    const quota = { events: 10_000_000, bytes: null };
    expect(JSON.parse((await call('--json')).out)).toEqual({
      day: formatDay(day),
      quota,
      organizations: [other, acme],
    });
    expect((await call('--organization', 'acme')).out).toMatch(
      /^organization {2}day {9}events {2}of {8}bytes {2}of\nacme {10}\S+ {2}7 {7}10000000 {2}700 {4}-\n$/,
    );
    expect(await call('--organization', 'A')).toMatchObject({ code: 2, out: '' });
  } finally {
    await database.drop();
  }
});
