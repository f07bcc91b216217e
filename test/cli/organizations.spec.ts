import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { dayOf, formatDay } from '../../src/events/instant.js';
import { ADD_INGEST_USAGE } from '../../src/quotas/daily-quota.js';
import { operatorCall } from '../support/operator-call.js';
import { createDatabase } from '../support/postgres.js';

it('organizations usage lists the events and bytes that each organization has sent today, and the quotas', async () => {
  const database = await createDatabase();
  const call = (...words: string[]) =>
    operatorCall({ DATABASE_URL: database.url, INGEST_BYTES_PER_DAY: '0' }, 'organizations', 'usage', ...words);
  try {
    const day = dayOf(Date.now());
    const acme = { organization: 'acme', events: 7, bytes: 700 };
    const other = { organization: 'other', events: 9, bytes: 900 };
    await ADD_INGEST_USAGE.runEach(database.pool, [acme, other], { day });
    await ADD_INGEST_USAGE.runEach(database.pool, [{ ...acme, events: 1 }], { day: day - 1 });
    const quota = { events: 10_000_000, bytes: null };
    expect(JSON.parse((await call('--json')).out)).toEqual({
      day: formatDay(day),
      quota,
      organizations: [other, acme],
    });
    const { out, err } = await call('--organization', 'acme');
    expect(err).toMatch(
      /^Working on .*\nAll API processes share these quotas; each API process applies every other limit on its own\n$/,
    );
    expect(out).toMatch(
      /^organization {2}day {9}events {2}of {8}bytes {2}of\nacme {10}\S+ {2}7 {7}10000000 {2}700 {4}-\n$/,
    );
    expect(await call('--organization', 'A')).toMatchObject({ code: 2, out: '' });
  } finally {
    await database.drop();
  }
});

it('operatorCall uses nothing of the working directory, such as the .data of a service that was started there', async () => {
  const database = await createDatabase();
  const before = process.cwd();
  const folder = mkdtempSync(join(tmpdir(), 'working-directory-'));
  const dataDir = join(folder, '.data');
  mkdirSync(dataDir, { mode: 0o755 });
  writeFileSync(join(dataDir, 'first'), '', { mode: 0o644 });
  try {
    process.chdir(folder);
    const { code, err } = await operatorCall({ DATABASE_URL: database.url }, 'organizations', 'usage');
    expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('other files') });
    expect(readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()).toEqual([
      '.data',
      join('.data', 'first'),
    ]);
    expect(statSync(dataDir).mode & 0o777).toBe(0o755);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true });
    await database.drop();
  }
});
