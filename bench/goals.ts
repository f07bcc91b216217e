import { accessLog } from './access-log.js';
import { tracing } from './tracing.js';
import { contentReading } from './content-reading.js';
import { eventStoreAppends, eventStoreFollowing, eventStoreIngestion, eventStoreProjecting } from './event-store.js';
import { routeOverhead } from './route-overhead.js';
import { queryRouteOverhead } from './query-route-overhead.js';
import { metricsQuery } from './metrics-query.js';
import { metricsQueryGrowth } from './metrics-query-growth.js';
import { metricsOverHttp } from './metrics-over-http.js';
import { metricsAnyRange } from './metrics-any-range.js';
import { timeline } from './timeline.js';
import { falsePositives } from './false-positives.js';
import { knownMetrics } from './known-metrics.js';
import { takedownStatistics } from './takedown-statistics.js';
import { projectAgainstCopy } from './project-against-copy.js';
import { projectRecordsAgainstCopy } from './project-records-against-copy.js';
import { projectAgainstRowByRow } from './project-against-row-by-row.js';
import { catchUpAgainstIdleConsumer } from './catch-up-against-idle-consumer.js';
import { appendSingle } from './append-single.js';
import { ingestAgainstCopy } from './ingest-against-copy.js';
import { listLookup } from './list-lookup.js';
import { ethPhishingDetect } from './eth-phishing-detect.js';
import { assetCheckRoute } from './asset-check-route.js';
import { startUp } from './start-up.js';
import { ingestToMetrics } from './ingest-to-metrics.js';
import { idleMemory, restingMemory } from './idle-memory.js';
import type { Goal } from './goal.js';
import { eventCost } from './event-cost.js';
import { rebuilds } from './rebuilds.js';
import { groups } from './groups.js';
import { reads } from './reads.js';
import { recordPages, taxiiPages } from './record-pages.js';
import { ingestToFeed } from './ingest-to-feed.js';
import { ingestToToken } from './ingest-to-token.js';
import { feedCopy } from './feed-copy.js';
import { noisyOrganization } from './noisy-organization.js';
import { waitingAtFeed } from './waiting-at-feed.js';
import { sizing } from './sizing.js';
import { webhooks } from './webhooks.js';
import { costlyNeighbour } from './costly-neighbour.js';
import { erasure } from './erasure.js';

export const GOALS: readonly Goal[] = [
  routeOverhead,
  accessLog,
  tracing,
  queryRouteOverhead,
  metricsQuery,
  metricsQueryGrowth,
  metricsOverHttp,
  metricsAnyRange,
  timeline,
  takedownStatistics,
  falsePositives,
  knownMetrics,
  projectAgainstCopy,
  projectRecordsAgainstCopy,
  projectAgainstRowByRow,
  catchUpAgainstIdleConsumer,
  appendSingle,
  ingestAgainstCopy,
  listLookup,
  ethPhishingDetect,
  assetCheckRoute,
  startUp,
  ingestToMetrics,
  idleMemory,
  restingMemory,
  contentReading,
  groups,
  recordPages,
  reads,
  ingestToFeed,
  ingestToToken,
  feedCopy,
  taxiiPages,
  waitingAtFeed,
  noisyOrganization,
  costlyNeighbour,
  erasure,
  webhooks,
  eventCost,
  rebuilds,
  sizing,
  eventStoreAppends,
  eventStoreIngestion,
  eventStoreFollowing,
  eventStoreProjecting,
];
