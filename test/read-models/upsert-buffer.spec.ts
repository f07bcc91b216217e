import { describe, expect, it } from '@jest/globals';
import { DatabaseError } from 'pg';
import { UpsertBuffer } from '../../src/read-models/upsert-buffer.js';

interface Row {
  readonly key: string;
  readonly count: number;
  readonly sample?: string;
}

/** Creates a buffer and records each written batch. The first `failures` writes fail. */
const collect = (failures = 0) => {
  const written: (readonly Row[])[] = [];
  const reported = { failures: 0, dropped: 0 };
  const during: { write: () => void } = { write: () => undefined };
  const rows = new UpsertBuffer<Row>({
    keyOf: ({ key }) => key,
    merge: (known, { count }) => ({ ...known, count: known.count + count }),
    write: async (batch) => {
      during.write();
      if ((failures -= 1) >= 0) throw new Error('the database is unavailable');
      written.push(batch);
    },
    report: {
      failed: () => void (reported.failures += 1),
      dropped: (n) => void (reported.dropped += n),
    },
    maxRows: 2,
    flushIntervalMs: 60_000,
  });
  return { rows, written, during, reported };
};

describe('An upsert buffer', () => {
  it('merges rows with the same key, and drops rows beyond its limit', async () => {
    const { rows, written, reported } = collect();
    for (const key of ['a', 'b', 'a', 'c', 'b']) rows.add({ key, count: 1 });
    expect(reported.dropped).toBe(1);
    await rows.stop();
    await rows.stop();
    expect(written).toEqual([
      [
        { key: 'a', count: 2 },
        { key: 'b', count: 2 },
      ],
    ]);
  });

  it('reads the values of a row only if its key is new', async () => {
    const { rows, written } = collect();
    let computed = 0;
    const row = () => ({
      key: 'a',
      count: 1,
      get sample() {
        return `${(computed += 1)}`;
      },
    });
    for (let n = 0; n < 3; n += 1) rows.add(row());
    await rows.stop();
    expect(written).toEqual([[{ key: 'a', count: 3, sample: '1' }]]);
    expect(computed).toBe(1);
  });

  it('keeps rows that could not be written for the next flush, merged with newer rows, within its limit', async () => {
    const { rows, written, during, reported } = collect(1);
    rows.add({ key: 'a', count: 1 });
    during.write = () => {
      for (const key of ['a', 'b', 'c']) rows.add({ key, count: 1 });
      during.write = () => undefined;
    };
    await rows.stop();
    expect(reported).toEqual({ failures: 1, dropped: 1 });
    expect(written).toEqual([]);
    await rows.stop();
    expect(written).toEqual([
      [
        { key: 'a', count: 2 },
        { key: 'b', count: 1 },
      ],
    ]);
  });

  it('writes each row once if a row can never be stored and the database then fails', async () => {
    const written: string[] = [];
    const failures: unknown[] = [];
    let isAway = true;
    const rows = new UpsertBuffer<Row>({
      keyOf: ({ key }) => key,
      merge: (known) => known,
      write: async (batch) => {
        const keys = batch.map(({ key }) => key);
        if (keys.includes('invalid')) throw Object.assign(new DatabaseError('invalid', 0, 'error'), { code: '22P02' });
        if (keys.includes('late') && isAway) throw new Error('the database is unavailable');
        written.push(...keys);
      },
      report: { failed: (error) => void failures.push(error), dropped: () => {} },
      maxRows: 10,
      flushIntervalMs: 60_000,
    });
    for (const key of ['a', 'invalid', 'b', 'late']) rows.add({ key, count: 1 });
    await rows.stop();
    expect([written, failures.length]).toEqual([['a'], 2]);
    isAway = false;
    await rows.stop();
    expect([written, failures.length]).toEqual([['a', 'b', 'late'], 2]);
  });
});
