import type { UpstreamEvent } from '../../src/events/event.js';
import { MEASURE } from '../../src/read-models/measure.js';

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
