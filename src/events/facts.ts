import { MAX_LIST } from './declaring/fields.js';
import type { UpstreamEvent } from './event.js';
import { writeJson } from './stored-json.js';

/** The metric that a fact counts for. The numbers are permanent, because tables contain them. */
export const MEASURE = {
  report: 1,
  threat: 2,
  threatWatchlisted: 3,
  takedownFiled: 4,
  takedownCompleted: 5,
} as const;

/** One unit that a metric counts. The elements are in the order of the key of `read.facts`. */
export type Fact = readonly [
  organization: string,
  /** '' for the whole organization. */
  brand: string,
  /** ms */
  at: number,
  measure: number,
  /** The asset type of a threat; '' for everything else. */
  type: string,
];

/** Returns the facts that `others` does not contain. */
export const factsWithout = (facts: readonly Fact[], others: readonly Fact[]): readonly Fact[] => {
  if (facts.length === 0 || others.length === 0) return facts;
  const known = new Set(others.map(String));
  return facts.filter((fact) => !known.has(String(fact)));
};

export const THREAT_STATUSES: ReadonlySet<string> = new Set(['BLOCKED', 'APPROVED', 'AUTO_APPROVED']);

/** Returns the facts of a record in the state that this event reports. This function defines all metrics. */
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
      // For the organization, a takedown is dated by creation; for a brand, by last change.
      const dated: [string, number][] = [['', data.createdAt]];
      if (data.brand !== undefined) dated.push([data.brand, data.updatedAt]);
      const measures =
        data.status === 'COMPLETED' ? [MEASURE.takedownFiled, MEASURE.takedownCompleted] : [MEASURE.takedownFiled];
      return dated.flatMap(([brand, at]) =>
        measures.map((measure): Fact => [data.organization, brand, at, measure, '']),
      );
    }
    case 'AssetStatusChanged':
      // The threats of a brand are the BLOCKED entries that name the brand in `brandReviews`.
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

/** The `data` of an event before validation. */
interface Unvalidated {
  readonly brands?: unknown;
  readonly brandReviews?: unknown;
}

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/** Reading and writing this many bytes takes about as long as writing a row. */
const BYTES_PER_FACT = 1_024;

/**
 * The facts of so many brands usually share the rows of day counts with other events. Those of more brands change rows of
 * their own, now and when the event is replaced, and cost as much as several facts (F24).
 */
const USUAL_BRANDS = 4;
const FACTS_PER_FURTHER_BRAND = 4;
const rowsOf = (brands: unknown): number => {
  const length = lengthOf(brands);
  return 1 + length + (FACTS_PER_FURTHER_BRAND - 1) * Math.max(0, length - USUAL_BRANDS);
};

const MAX_ROWS: Readonly<Record<UpstreamEvent['type'] | 'ParkedEventRetried', (data: Unvalidated) => number>> = {
  ReportFiled: ({ brands }) => rowsOf(brands),
  // A deletion removes up to one fact per brand of the record.
  ReportDeleted: () => 1 + MAX_LIST,
  ThreatStatusChanged: () => 1,
  ThreatDeleted: () => 1,
  // Filed and completed, for the organization and for the brand.
  TakedownFiled: () => 4,
  TakedownStatusChanged: () => 4,
  TakedownDeleted: () => 4,
  AssetStatusChanged: ({ brandReviews }) => rowsOf(brandReviews),
  AssetStatusChangeDeleted: () => 1 + MAX_LIST,
  BrandRegistered: () => 1,
  BrandRemoved: () => 1,
  FeatureFlagChanged: () => 1,
  // The row of the asset, and the counts of the old and the new group.
  AssetGrouped: () => 3,
  AssetUngrouped: () => 2,
  // The row of the dispute and its listed row.
  DisputeResolved: () => 2,
  // Reads an event of any type with the rest of its stream, and applies the event.
  ParkedEventRetried: () => 1 + MAX_LIST,
};
const maxRowsByType = new Map<string, (data: Unvalidated) => number>(Object.entries(MAX_ROWS));

/**
 * Returns how many of `left` bytes remain after a value, assuming that each character is escaped with six bytes; a
 * negative number if the value as JSON may be longer than `left` bytes.
 */
const leftAfter = (value: unknown, left: number): number => {
  if (typeof value === 'string') return left - 2 - 6 * value.length;
  if (typeof value !== 'object' || value === null) return left - 25;
  for (const name in value) {
    // Checked before each level, because the nesting of a stored value is not limited.
    if (left < 0) return left;
    left = leftAfter((value as Record<string, unknown>)[name], left - 4 - 6 * name.length);
  }
  return left - 2;
};

/** Counts as the size of data that are nested too deeply to be written, in KiB, so that the event is applied alone. */
const KIB_IF_UNWRITABLE = 16 * 1_024;

/** The size of data as JSON, in started KiB. Most data are small, and need not be written to be measured. */
const kibibytesOf = (data: unknown): number => {
  if (leftAfter(data, BYTES_PER_FACT) >= 0) return 1;
  const json = writeJson(data);
  return json === undefined ? KIB_IF_UNWRITABLE : Math.ceil(Buffer.byteLength(json) / BYTES_PER_FACT);
};

/**
 * Returns the maximum cost of applying an event, according to the event alone, in facts: one for each row that the event
 * may add, change or remove, and one for each started KiB of its data after the first KiB. Accepts unvalidated data.
 * Replacing an earlier state may also remove the facts of that state, which are not included.
 */
export const maxFactsOf = ({ type, data }: { readonly type: string; readonly data: unknown }): number => {
  const rows = maxRowsByType.get(type)?.((data ?? {}) as Unvalidated) ?? 1;
  return rows - 1 + kibibytesOf(data);
};
