import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import type { Asset } from '../../assets/asset.js';
import { queryOf } from '../../http/requests.js';
import { type Fact, MEASURE } from '../../events/facts.js';
import { formatInstant } from '../../events/instant.js';
import { LISTED_KIND } from '../../events/listed-items.js';
import { recordId } from '../../events/record-id.js';
import type { Range } from '../../http/parameters.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { toMetrics, toTotals } from '../get-metrics.js';
import { FIELDS } from '../get-timeline.js';
import { MetricsQueries, type MetricsQuery } from '../metrics-queries.js';
import { eachOf, METRIC_NAMES, type MetricOfRecords, type Metrics, type Totals } from '../metrics.dto.js';
import {
  type Cause,
  type ChangesOfMetric,
  type CountedAs,
  type RestatedRecord,
  type Restatement,
} from './restatement.dto.js';
import { daysBefore, type KnownCounts, type Moment, pastValues, rangeThen } from '../past-sql.js';
import {
  ASSETS_OF_RECORDS,
  RESTATED_RECORDS,
  type RestatedRow,
  RESTATEMENT,
  restatementValues,
  type StateThen,
} from './restatement-sql.js';

/** The parameters of a query about what of the metrics of a range changed between two states of the log. */
export interface RestatementQuery extends MetricsQuery {
  readonly from: Moment;
  /** The later state. */
  readonly known: Moment;
}

export class GetRestatement extends queryOf<AsOf<Restatement>, RestatementQuery>() {}

/** Numbers by key, of either of two lists. */
const bothOf = <Key extends string>(
  key: Key,
  then: readonly (Readonly<Record<Key, string>> & { readonly count: number })[],
  now: typeof then,
): (readonly [name: string, then: number, now: number])[] => {
  const counts = new Map<string, [number, number]>();
  for (const [index, list] of [then, now].entries())
    for (const each of list) {
      const pair = counts.get(each[key]) ?? [0, 0];
      pair[index as 0 | 1] = each.count;
      counts.set(each[key], pair);
    }
  return [...counts]
    .flatMap(([name, [before, after]]) => (before === after ? [] : [[name, before, after] as const]))
    .sort(([a], [b]) => (a < b ? -1 : 1));
};

type ChangeCount = readonly [measure: number, type: string, isLate: boolean, added: number, removed: number];

const changesOf = (counts: readonly ChangeCount[]): Restatement['changes'] => {
  const sum = (isLate: boolean, index: 3 | 4, matches: (measure: number, type: string) => boolean): number =>
    counts.reduce(
      (total, count) => (count[2] === isLate && matches(count[0], count[1]) ? total + count[index] : total),
      0,
    );
  const totals = (isLate: boolean, index: 3 | 4): Totals =>
    toTotals(
      (measure) => sum(isLate, index, (other) => other === measure),
      (type) => sum(isLate, index, (measure, other) => measure === MEASURE.threat && other === type),
      sum(isLate, index, (measure) => measure === MEASURE.threat),
    );
  const [lateAdded, lateRemoved, added, removed] = [
    totals(true, 3),
    totals(true, 4),
    totals(false, 3),
    totals(false, 4),
  ];
  const types = [...new Set(counts.flatMap(([measure, type]) => (measure === MEASURE.threat ? [type] : [])))].sort();
  const changesIn = (matches: (measure: number, type: string) => boolean): ChangesOfMetric => ({
    late: { added: sum(true, 3, matches), removed: sum(true, 4, matches) },
    corrected: { added: sum(false, 3, matches), removed: sum(false, 4, matches) },
  });
  return {
    metrics: eachOf(METRIC_NAMES, (name) => ({
      late: { added: lateAdded[name], removed: lateRemoved[name] },
      corrected: { added: added[name], removed: removed[name] },
    })),
    blockedByType: types.map((type) => ({
      type,
      ...changesIn((measure, other) => measure === MEASURE.threat && other === type),
    })),
  };
};

@QueryHandler(GetRestatement)
export class GetRestatementHandler implements IQueryHandler<GetRestatement> {
  constructor(private readonly queries: MetricsQueries) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Unprocessable if the range has too many days or asset types with a threat
   */
  execute(query: GetRestatement): Promise<AsOf<Restatement>> {
    const { organization, brand, from, known: to } = query;
    const range = rangeThen(query.range, from);
    return this.queries.run(query, async (pool) => {
      const values = restatementValues(organization, brand ?? '', range, from, to);
      const [row] = await RESTATEMENT.run(pool, values);
      const metricsAt = (counts: KnownCounts, moment: Moment): Metrics =>
        toMetrics(counts, daysBefore(range, moment), counts.corrections);
      const [then, now] = [metricsAt(row!.then, from), metricsAt(row!.now, to)];
      const result: Restatement = {
        then,
        now,
        difference: {
          metrics: eachOf(METRIC_NAMES, (name) => now.metrics[name] - then.metrics[name]),
          blockedByType: bothOf('type', then.blockedByType, now.blockedByType).map(([type, before, after]) => ({
            type,
            count: after - before,
          })),
        },
        days: bothOf('date', then.blockedByDay, now.blockedByDay).map(([date, before, after]) => ({
          date,
          then: before,
          now: after,
        })),
        changes: changesOf(row!.changes),
      };
      return { result, ...momentOf(row!), knownAt: to.instant };
    });
  }
}

export interface RestatedPage {
  /** Makes the records. A table has so many that they are made in several turns of the event loop. */
  readonly records: () => Iterable<RestatedRecord>;
  /** The position of the last record. Undefined: this is the last page. */
  readonly next: number | undefined;
}

/** A page of the records that count otherwise now than then, the one that changed last first. */
export class ListRestatedRecords extends queryOf<
  AsOf<RestatedPage>,
  RestatementQuery & {
    readonly limit: number;
    /** The page ends with the record whose content reaches this size, in bytes. */
    readonly maxBytes: number;
    /** The position of the last record of the page before. Undefined: this is the first page. */
    readonly before?: number | undefined;
  }
>() {}

const METRIC_OF: Readonly<Record<number, MetricOfRecords>> = {
  ...FIELDS,
  [MEASURE.threat]: 'newThreats',
};

const KIND_OF = { report: 'report', threat: 'threat', takedown: 'takedown', assetStatus: 'verdict' } as const;

/** The metrics, and asset types and instants, of facts as texts, in order. */
const valuesOf = (facts: readonly Fact[], index: 2 | 3 | 4): string =>
  facts
    .map((fact) => fact[index])
    .sort((a, b) => (a < b ? -1 : 1))
    .join('\n');

/** Whether the record counts in this state, or does not concern the organization, and so none of its brands. */
const isElsewhere = ({ facts, concerns }: StateThen): boolean => facts.length > 0 || !concerns;

/** @param then undefined: the record was not stored, or did not concern the organization yet */
const causeOf = (then: StateThen | undefined, now: StateThen, brand: string): Cause => {
  if (then === undefined) return 'new';
  if (now.isDeleted) return 'deleted';
  const [before, after] = [then, now].map(({ facts }) => facts.filter(([, each]) => each === brand)) as [
    Fact[],
    Fact[],
  ];
  if ((before.length === 0) !== (after.length === 0) && isElsewhere(then) && isElsewhere(now)) return 'brand';
  if (valuesOf(before, 3) !== valuesOf(after, 3)) return 'status';
  return valuesOf(before, 4) === valuesOf(after, 4) ? 'moved' : 'type';
};

const toRecord = (row: RestatedRow, asset: Asset | undefined, brand: string, { from, to }: Range): RestatedRecord => {
  const { kind, id, isNew, isLate, now, changedAt } = row;
  const then = isNew ? undefined : (row.then ?? undefined);
  const counted = (facts: readonly Fact[]): CountedAs[] =>
    facts
      .filter(([, each, at]) => each === brand && at >= from && at <= to)
      .map(([, , at, measure, type]) => ({
        metric: METRIC_OF[measure]!,
        type: type === '' ? null : type,
        at: formatInstant(at),
      }));
  return {
    kind: KIND_OF[kind],
    id,
    ...(asset && { asset }),
    then: counted(then?.facts ?? []),
    now: counted(now.facts),
    cause: causeOf(then, now, brand),
    late: isLate,
    changedAt: formatInstant(changedAt),
  };
};

@QueryHandler(ListRestatedRecords)
export class ListRestatedRecordsHandler implements IQueryHandler<ListRestatedRecords> {
  constructor(private readonly queries: MetricsQueries) {}

  /** @throws as `MetricsQueries.run` */
  execute(query: ListRestatedRecords): Promise<AsOf<RestatedPage>> {
    const { organization, from, known, before = Number.MAX_SAFE_INTEGER } = query;
    const brand = query.brand ?? '';
    const range = rangeThen(query.range, from);
    return this.queries.run(query, async (pool) => {
      const [row] = await RESTATED_RECORDS.run(pool, {
        organization,
        brand,
        ...pastValues(from, range),
        knownNow: known.position,
        before,
        limit: query.limit + 1,
      });
      const { records } = row!;
      const ids = records
        .slice(0, query.limit)
        .map(({ kind, id }) => recordId({ organization, kind: LISTED_KIND[KIND_OF[kind]], id }));
      const listed = await ASSETS_OF_RECORDS.run(pool, { records: ids, maxBytes: query.maxBytes });
      const last = listed.at(-1);
      const shown = records.slice(0, last !== undefined && last.total > listed.length ? last.number : query.limit);
      const assets = new Map(listed.map(({ number, type, content }) => [number, { type, content } as Asset]));
      const next = records.length > shown.length ? shown.at(-1)!.position : undefined;
      const result: RestatedPage = {
        *records() {
          for (const [index, each] of shown.entries()) yield toRecord(each, assets.get(index + 1), brand, range);
        },
        next,
      };
      return { result, ...momentOf(row!), knownAt: known.instant };
    });
  }
}
