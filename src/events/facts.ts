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
