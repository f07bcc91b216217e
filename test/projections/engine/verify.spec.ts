import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { assetStatuses } from '../../../projections/asset-statuses.js';
import { rebuild } from '../../../projections/engine/rebuild.js';
import { verify } from '../../../projections/engine/verify.js';
import { PROJECTIONS } from '../../../projections/registry.js';
import type { EventLog, RecordedEvent } from '../../../src/event-log/event-log.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { eventually } from '../../support/eventually.js';
import { newDatabase } from '../../support/open-for-tests.js';
import { projectToHead } from '../../support/projecting.js';
import { recordedInOrder, sent } from '../../support/upstream.js';

describe('A verification while the projector is running', () => {
  const database = newDatabase();
  let events: RecordedEvent[];
  let log: InMemoryEventLog;
  let sentSoFar: number;

  const append = (count: number): void => {
    sentSoFar += count;
    const all = Array.from({ length: sentSoFar }, (_, n) =>
      sent('AssetStatusChanged', {
        changeId: `c${n}`,
        asset: { type: 'URL', content: `site-${n}.example` },
        status: 'BLOCKED',
        brandReviews: [],
        createdAt: '2026-03-01T00:00:00Z',
      }),
    );
    events.push(...recordedInOrder(all).slice(-count));
  };

  const project = (): Promise<unknown> => projectToHead(log, database.pool, [assetStatuses]);

  const statuses = async (): Promise<number> =>
    (await database.pool.query('select from read.asset_statuses')).rowCount!;

  /** Resolves as soon as the work either has ended or is waiting for a lock. */
  const endsOrWaits = async (pending: Promise<unknown>): Promise<void> => {
    let hasEnded = false;
    const end = (): void => void (hasEnded = true);
    pending.then(end, end);
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(
      'the work has ended or waits for a lock',
      async () => hasEnded || (await database.pool.query(waiting)).rowCount! > 0,
    );
  };

  /** A pool that calls a function before each comparison of a table. */
  const disturbed = (onComparison: () => Promise<unknown>): Pool => {
    const connect = async (): Promise<PoolClient> => {
      const connection = await database.pool.connect();
      const query = connection.query.bind(connection) as (...given: unknown[]) => Promise<unknown>;
      const disturbedQuery = async (...given: unknown[]): Promise<unknown> => {
        if (typeof given[0] === 'string' && given[0].includes('except all')) await onComparison();
        return query(...given);
      };
      const release = (broken?: boolean): void => connection.release(broken);
      return Object.assign(Object.create(connection) as PoolClient, { query: disturbedQuery, release });
    };
    const query = database.pool.query.bind(database.pool);
    return Object.assign(Object.create(database.pool) as Pool, { connect, query });
  };

  beforeEach(async () => {
    events = [];
    sentSoFar = 0;
    log = new InMemoryEventLog(events);
    append(50);
    await project();
  });

  it('does not block the projector during comparisons, and finds no difference', async () => {
    let counted = 50;
    const onComparison = async (): Promise<void> => {
      append(5);
      await project();
      counted += 5;
      expect(await statuses()).toBe(counted);
    };
    expect(await verify({ pool: disturbed(onComparison), log }, [assetStatuses])).toEqual([]);
    expect(counted).toBe(50 + 4 * 5);
  });

  it('compares when events were stored, unless the log may lose events in a scavenge', async () => {
    const clocked = PROJECTIONS.filter(({ clock }) => clock !== undefined);
    const clocks = clocked.map(({ clock }) => clock!).sort();
    await projectToHead(log, database.pool, clocked);
    for (const clock of clocks) await database.pool.query(`update read.${clock} set recorded_at = recorded_at + 1`);
    const differing = async (ofLog: EventLog): Promise<readonly string[]> =>
      [...new Set((await verify({ pool: database.pool, log: ofLog }, clocked)).map(({ table }) => table))].sort();
    expect(await differing(log)).toEqual(clocks);
    const scavenged = Object.assign(Object.create(log) as InMemoryEventLog, { positionUnit: 'bytes' });
    expect(await differing(scavenged)).toEqual([]);
  });

  it('finds exactly the planted differences', async () => {
    await database.pool.query(`update read.asset_statuses set status = 'ALLOWED' where asset = 'URL:site-7.example'`);
    await database.pool.query(`delete from read.asset_status_entries where change_id = 'c8'`);
    const onComparison = async (): Promise<void> => {
      append(5);
      await project();
    };
    const differences = await verify({ pool: disturbed(onComparison), log }, [assetStatuses]);
    expect(differences.map(({ table, side }) => [table, side])).toEqual([
      ['asset_status_entries', 'only in the rebuild'],
      ['asset_statuses', 'only in the read model'],
      ['asset_statuses', 'only in the rebuild'],
    ]);
  });

  it('prevents a rebuild from replacing the tables before they are compared', async () => {
    let rebuilding: Promise<void> | undefined;
    const onComparison = async (): Promise<void> => {
      rebuilding ??= rebuild({ pool: database.pool, log }, [assetStatuses]);
      await endsOrWaits(rebuilding);
    };
    expect(await verify({ pool: disturbed(onComparison), log }, [assetStatuses])).toEqual([]);
    await rebuilding;
    expect(await statuses()).toBe(50);
  });

  it('compares both sides at the same position, whenever events arrive', async () => {
    const readAll = log.readAll.bind(log);
    const projecting: Promise<unknown>[] = [];
    let appendsLeft = 6;
    // The live tables advance after each pass of the rebuild.
    log.readAll = async (...given) => {
      const page = await readAll(...given);
      if (appendsLeft > 0) {
        appendsLeft -= 1;
        append(3);
        projecting.push(project());
        await endsOrWaits(projecting.at(-1)!);
      }
      return page;
    };
    expect(await verify({ pool: database.pool, log }, [assetStatuses])).toEqual([]);
    await Promise.all(projecting);
    expect(projecting.length).toBeGreaterThan(1);
  });
});
