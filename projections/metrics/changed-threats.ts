import type { PoolClient } from 'pg';
import { type Fact, MEASURE } from '../../src/events/facts.js';
import { dayOf } from '../../src/events/instant.js';
import { nullable, statement } from '../../src/postgres/statement.js';

/** With which instant (ms) and asset type a state of a threat counts. */
export interface Counting {
  readonly at: number;
  readonly type: string;
}

/** Returns with what a state counts as a threat. Undefined: the state does not count. */
export const countingOf = (facts: readonly Fact[]): Counting | undefined => {
  const fact = facts.find(([, , , measure]) => measure === MEASURE.threat);
  return fact && { at: fact[2], type: fact[4] };
};

/** Returns the earlier of two countings. For the same instant, the type decides. */
export const earliest = (a: Counting | undefined, b: Counting | undefined): Counting | undefined => {
  if (a === undefined || b === undefined) return a ?? b;
  return a.at < b.at || (a.at === b.at && a.type <= b.type) ? a : b;
};

const isSame = (a: Counting | undefined, b: Counting | undefined): boolean => a?.at === b?.at && a?.type === b?.type;

interface ThreatKey {
  readonly organization: string;
  readonly id: string;
}

const KEY = { organization: 'text[]', id: 'text[]' } as const;

export const READ_CHANGED_THREATS = statement(
  'metrics-read-changed-threats',
  KEY,
  {
    organization: 'text',
    id: 'text',
    countedAt: 'bigint',
    type: 'text',
    newestAt: nullable('bigint'),
    newestType: nullable('text'),
  },
  `
    select t.organization, t.id, t.counted_at as "countedAt", t.type, t.newest_at as "newestAt",
      t.newest_type as "newestType"
    from unnest(:organization, :id) i (organization, id) join changed_threats t using (organization, id)`,
);

export const STORE_CHANGED_THREATS = statement(
  'metrics-store-changed-threats',
  { ...KEY, countedAt: 'bigint[]', type: 'text[]', newestAt: 'bigint[]', newestType: 'text[]' },
  `
    insert into changed_threats (organization, id, counted_at, type, newest_at, newest_type)
    select * from unnest(:organization, :id, :countedAt, :type, :newestAt, :newestType)
    on conflict (organization, id) do update set counted_at = excluded.counted_at, type = excluded.type,
      newest_at = excluded.newest_at, newest_type = excluded.newest_type`,
);

export const DELETE_CHANGED_THREATS = statement(
  'metrics-delete-changed-threats',
  KEY,
  `
    delete from changed_threats t using unnest(:organization, :id) i (organization, id)
    where t.organization = i.organization and t.id = i.id`,
);

/**
 * Adds to the counts by day and type. Only the projector writes, so no count has changed since this statement read it.
 * The counts are read one by one, because a join could scan the counts of all organizations.
 */
export const ADD_TO_CHANGED_DAYS = statement(
  'metrics-add-to-changed-days',
  { organization: 'text[]', day: 'integer[]', type: 'text[]', counted: 'bigint[]', falsePositives: 'bigint[]' },
  `
    with changed as materialized (
      select i.organization, i.day, i.type, d.place, i.counted + coalesce(d.counted, 0) as counted,
        i.false_positives + coalesce(d.false_positives, 0) as false_positives
      from unnest(:organization, :day, :type, :counted, :falsePositives)
        i (organization, day, type, counted, false_positives)
      left join lateral (
        select d.ctid as place, d.counted, d.false_positives from changed_threat_days d
        where d.organization = i.organization and d.day = i.day and d.type = i.type limit 1
      ) d on true
    ), emptied as (
      delete from changed_threat_days d using changed c
      where d.ctid = c.place and c.counted = 0 and c.false_positives = 0
    )
    insert into changed_threat_days (organization, day, type, counted, false_positives)
    select organization, day, type, counted, false_positives from changed
    where counted <> 0 or false_positives <> 0 order by 1, 2, 3
    on conflict (organization, day, type) do update set counted = excluded.counted,
      false_positives = excluded.false_positives`,
);

/** What a batch says about a threat that has several states. */
export interface ThreatStates extends ThreatKey {
  /** The earliest counting among the states of the batch, whether or not they were outdated when they were stored. */
  readonly first: Counting | undefined;
  /** With what the newest state counts after the batch. */
  readonly newest: Counting | undefined;
  /** With what the newest state counted before the batch, if the threat was stored. */
  readonly stored: Counting | undefined;
}

/** The first counting of a threat, and what its newest state counts with instead. */
interface ChangedThreat extends ThreatKey {
  readonly first: Counting;
  readonly newest: Counting | undefined;
}

interface DayChange {
  readonly organization: string;
  readonly day: number;
  readonly type: string;
  counted: number;
  falsePositives: number;
}

/** Sums what changed threats add to the counts by day and type, so that each count is changed at most once. */
class DayChanges {
  private readonly changes = new Map<string, DayChange>();

  add({ organization, first, newest }: ChangedThreat, n: 1 | -1): void {
    this.addCount(organization, first, n, newest === undefined ? n : 0);
    if (newest !== undefined) this.addCount(organization, newest, -n, 0);
  }

  rows(): readonly DayChange[] {
    return [...this.changes.values()].filter(({ counted, falsePositives }) => counted !== 0 || falsePositives !== 0);
  }

  private addCount(organization: string, { at, type }: Counting, counted: number, falsePositives: number): void {
    const day = dayOf(at);
    const key = `${organization}\n${day}\n${type}`;
    const change = this.changes.get(key) ?? { organization, day, type, counted: 0, falsePositives: 0 };
    change.counted += counted;
    change.falsePositives += falsePositives;
    this.changes.set(key, change);
  }
}

/**
 * Stores the threats whose newest state does not count as the threat counted first, and deletes those whose newest state
 * does so again. Most threats are in neither case and cost nothing. The result does not depend on the order of the
 * states.
 */
export const storeChangedThreats = async (threats: readonly ThreatStates[], connection: PoolClient): Promise<void> => {
  const keyOf = ({ organization, id }: ThreatKey): string => `${organization}\n${id}`;
  const before = new Map<string, ChangedThreat>();
  for (const row of await READ_CHANGED_THREATS.runEach(connection, threats)) {
    const { organization, id, countedAt, type, newestAt, newestType } = row;
    const newest = newestAt === null ? undefined : { at: newestAt, type: newestType! };
    before.set(keyOf(row), { organization, id, first: { at: countedAt, type }, newest });
  }
  const days = new DayChanges();
  const stored: ChangedThreat[] = [];
  const deleted: ChangedThreat[] = [];
  for (const threat of threats) {
    const known = before.get(keyOf(threat));
    // A threat without a row counted first as its newest state does.
    const first = earliest(known ? known.first : threat.stored, threat.first);
    const { organization, id, newest } = threat;
    const isChanged = first !== undefined && !isSame(first, newest);
    if (known && isChanged && isSame(known.first, first) && isSame(known.newest, newest)) continue;
    if (known) days.add(known, -1);
    if (isChanged) {
      stored.push({ organization, id, first, newest });
      days.add({ organization, id, first, newest }, 1);
    } else if (known) deleted.push(known);
  }
  await DELETE_CHANGED_THREATS.runEach(connection, deleted);
  await STORE_CHANGED_THREATS.runEach(
    connection,
    stored.map(({ first, newest, ...key }) => ({
      ...key,
      countedAt: first.at,
      type: first.type,
      newestAt: newest?.at,
      newestType: newest?.type,
    })),
  );
  await ADD_TO_CHANGED_DAYS.runEach(connection, days.rows());
};
