import { MAX_LIST } from './declaring/reading.js';
import type { UpstreamEvent } from './event.js';
import { MEASURE } from './measure.js';

/** One thing to count: for whom, when, as what. Ordered like the table's key. */
export type Fact = readonly [
  organization: string,
  /** '' = the organization as a whole. */
  brand: string,
  /** ms */
  at: number,
  measure: number,
  /** The asset type of a threat; '' for everything else. */
  type: string,
];

/** Facts that are not among the others. */
export const factsWithout = (facts: readonly Fact[], others: readonly Fact[]): readonly Fact[] => {
  if (facts.length === 0 || others.length === 0) return facts;
  const known = new Set(others.map(String));
  return facts.filter((fact) => !known.has(String(fact)));
};

const THREAT_STATUSES = new Set(['BLOCKED', 'APPROVED', 'AUTO_APPROVED']);

/** The facts a record counts as in this state. This function defines every metric. */
export const factsOf = (event: UpstreamEvent): readonly Fact[] => {
  const { type, data } = event;
  switch (type) {
    case 'ReportFiled':
      return ['', ...data.brands].map((brand) => [data.organization, brand, data.createdAt, MEASURE.report, '']);
    case 'ThreatStatusChanged':
      if (THREAT_STATUSES.has(data.status))
        return [[data.organization, '', data.createdAt, MEASURE.threat, data.asset.type]];
      if (data.status === 'WATCHLISTED')
        return [[data.organization, '', data.createdAt, MEASURE.threatWatchlisted, '']];
      return [];
    case 'TakedownFiled':
    case 'TakedownStatusChanged': {
      // An organization dates a takedown by its creation, a brand by its last change.
      const dated: [string, number][] = [['', data.createdAt]];
      if (data.brand !== undefined) dated.push([data.brand, data.updatedAt]);
      const measures =
        data.status === 'COMPLETED' ? [MEASURE.takedownFiled, MEASURE.takedownCompleted] : [MEASURE.takedownFiled];
      return dated.flatMap(([brand, at]) =>
        measures.map((measure): Fact => [data.organization, brand, at, measure, '']),
      );
    }
    case 'AssetStatusChanged':
      // A brand's threats are the entries of the status history with its review.
      if (data.status !== 'BLOCKED') return [];
      return data.brandReviews.map(({ organization, brand }) => [
        organization,
        brand,
        data.createdAt,
        MEASURE.threat,
        data.asset.type,
      ]);
    default:
      return [];
  }
};

/** The `data` of an event that nobody has validated. */
interface Unvalidated {
  readonly brands?: unknown;
  readonly brandReviews?: unknown;
  readonly asset?: { readonly content?: unknown } | null;
}

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/** Of an asset that is stored as reported: this many characters take about as long to write as a fact. */
const CHARACTERS_PER_FACT = 1_000;
const longText = ({ asset }: Unvalidated): number =>
  typeof asset?.content === 'string' ? Math.floor(asset.content.length / CHARACTERS_PER_FACT) : 0;

const MOST: Readonly<Record<UpstreamEvent['type'], (data: Unvalidated) => number>> = {
  ReportFiled: ({ brands }) => 1 + lengthOf(brands),
  // A deletion removes what the record named.
  ReportDeleted: () => 1 + MAX_LIST,
  ThreatStatusChanged: () => 1,
  ThreatDeleted: () => 1,
  // Filed and completed, for the organization and for the brand.
  TakedownFiled: () => 4,
  TakedownStatusChanged: () => 4,
  TakedownDeleted: () => 4,
  AssetStatusChanged: (data) => 1 + lengthOf(data.brandReviews) + longText(data),
  AssetStatusChangeDeleted: () => 1 + MAX_LIST,
  BrandRegistered: () => 1,
  BrandRemoved: () => 1,
  FeatureFlagChanged: () => 1,
  // The asset's row, and the counts of the group it leaves and of the one it joins.
  AssetGrouped: (data) => 3 + longText(data),
  AssetUngrouped: () => 2,
};
const mostOf = new Map<string, (data: Unvalidated) => number>(Object.entries(MOST));

/**
 * An upper bound for the rows that counting an event may add, change or remove, as far as the event alone tells. Works
 * on unvalidated data, so it can be called on anything. A state that replaces another may also cost that one's facts,
 * which only the tables know.
 */
export const factsAtMost = ({ type, data }: { readonly type: string; readonly data: unknown }): number =>
  mostOf.get(type)?.((data ?? {}) as Unvalidated) ?? 1;
