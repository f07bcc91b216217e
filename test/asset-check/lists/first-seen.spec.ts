import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FirstSeen } from '../../../src/asset-check/lists/first-seen.js';
import { BLOCKED, type HostTable, HostTableBuilder } from '../../../src/asset-check/lists/host-table.js';

const tableOf = (entries: readonly string[]): Promise<HostTable> => {
  const builder = new HostTableBuilder();
  for (const entry of entries) builder.add(entry, BLOCKED);
  return builder.build();
};
const T0 = 1_790_000_000_000;
const DAY = 86_400_000;

describe('First-seen times of list entries', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'seen-'));
    path = join(folder, 'lists', 'list.seen');
  });
  afterEach(() => rm(folder, { recursive: true }));

  const firstSeen = (origin = 'plain BLOCKED https://lists.example/'): FirstSeen => new FirstSeen(path, origin);

  it('are kept across refreshes and restarts, and removed with their entry', async () => {
    await firstSeen().update(await tableOf(['a.example', 'b.example']), T0);
    await firstSeen().update(await tableOf(['a.example', 'c.example']), T0 + DAY);
    expect(await firstSeen().find('a.example')).toEqual({ since: T0, watchedSince: T0 });
    expect(await firstSeen().find('c.example')).toEqual({ since: T0 + DAY, watchedSince: T0 });
    expect(await firstSeen().find('b.example')).toEqual({ watchedSince: T0 });
    await firstSeen().update(await tableOf(['a.example', 'b.example']), T0 + 2 * DAY);
    expect(await firstSeen().find('b.example')).toEqual({ since: T0 + 2 * DAY, watchedSince: T0 });
    expect(await firstSeen().find(undefined)).toEqual({ watchedSince: T0 });
  });

  it('equal the times that a map records for 20,000 entries that are added and removed', async () => {
    const entries = (from: number): string[] => Array.from({ length: 20_000 }, (_, n) => `host-${from + n}.example`);
    const expected = new Map<string, number>();
    for (const [round, from] of [0, 7_000, 3_000].entries()) {
      const at = T0 + round * DAY;
      const now = new Set(entries(from));
      for (const entry of expected.keys()) if (!now.has(entry)) expected.delete(entry);
      for (const entry of now) if (!expected.has(entry)) expected.set(entry, at);
      await firstSeen().update(await tableOf([...now, ...entries(from).slice(0, 100)]), at);
    }
    const wrong: string[] = [];
    for (let n = 0; n < 30_000; n += 37) {
      const entry = `host-${n}.example`;
      if ((await firstSeen().find(entry))?.since !== expected.get(entry)) wrong.push(entry);
    }
    expect(wrong).toEqual([]);
    expect((await stat(path)).size).toBeLessThan(20_000 * 12 + 100);
  });

  it('are stored atomically in a file that only its owner can read', async () => {
    await firstSeen().update(await tableOf(['a.example']), T0);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'lists'))).toEqual(['list.seen']);
  });

  it('are not read from the file of another origin or from a broken file', async () => {
    await firstSeen().update(await tableOf(['a.example', 'b.example']), T0);
    expect(await firstSeen('plain BLOCKED https://other.example/').find('a.example')).toBeUndefined();
    const whole = await readFile(path);
    for (const broken of [
      whole.subarray(0, 10),
      whole.subarray(0, whole.length - 8),
      Buffer.alloc(whole.length),
      Buffer.concat([Buffer.from('x'), whole]),
      Buffer.alloc(0),
    ]) {
      await writeFile(path, broken);
      await expect(firstSeen().find('a.example')).resolves.not.toEqual({ since: expect.any(Number) });
      await firstSeen().update(await tableOf(['a.example']), T0 + DAY);
      expect(await firstSeen().find('a.example')).toEqual({ since: T0 + DAY, watchedSince: T0 + DAY });
    }
    await firstSeen('plain BLOCKED https://other.example/').update(await tableOf(['a.example']), T0 + 2 * DAY);
    expect(await firstSeen().find('a.example')).toBeUndefined();
    await truncate(path, 0);
    expect(await firstSeen().find('a.example')).toBeUndefined();
  });

  it('are not kept for a list of more than a million entries', async () => {
    await firstSeen().update(await tableOf(['a.example']), T0);
    const endless = { size: 1_000_001 } as HostTable;
    await firstSeen().update(endless, T0 + DAY);
    expect(await firstSeen().find('a.example')).toBeUndefined();
  });
});
