import { killedPostgres, silentPostgres } from './faults/database-unavailable.js';
import { asynchronousFailover, failover } from './faults/failover.js';
import { zonesAndClocks } from './faults/time-zones.js';
import { concurrentWriters } from './faults/concurrent-writers.js';
import { disorder, duplicates } from './faults/redelivered-events.js';
import { killedErasure } from './faults/erasure-killed.js';
import { eventStoreUnavailable } from './faults/event-store-unavailable.js';
import { fullDisk } from './faults/full-disk.js';
import { groupsOnEventStore, groupsOnPostgres } from './faults/groups-killed.js';
import {
  killedService,
  killedServiceAndDatabase,
  killedServiceWithRunningDatabase,
} from './faults/killed-under-load.js';
import { killedBuilders } from './faults/lists-killed.js';
import { manyListClients } from './faults/lists-many.js';
import { liveRebuild } from './faults/live-rebuild.js';
import { heavyNeighbour } from './faults/heavy-neighbour.js';
import { copyOnEventStore, copyOnPostgres } from './faults/feed-copies.js';
import { killedMigration } from './faults/migrations.js';
import { poisonEvents } from './faults/poison-events.js';
import { poolerUnavailable } from './faults/pooler-unavailable.js';
import { fasterProducer } from './faults/faster-producer.js';
import { lostPositions } from './faults/lost-positions.js';
import { longRun } from './faults/long-run.js';
import { noisyNeighbours } from './faults/noisy-neighbour.js';
import { troubledReplica } from './faults/replica.js';
import { restored } from './faults/restore.js';
import { rollingRestarts } from './faults/rolling-restarts.js';
import { severalProjectors } from './faults/several-projectors.js';
import { skewedClocks } from './faults/skewed-clocks.js';
import { takeOver } from './faults/take-over.js';
import { consistencyTokens } from './faults/consistency-tokens.js';
import { killedDeliveries } from './faults/webhooks-killed.js';
import { cpuBombs } from './attacks/outside/cpu-bombs.js';
import { descriptors } from './attacks/wire/descriptors.js';
import { fanOut } from './attacks/neighbours/fan-out.js';
import { floodsWithoutKey } from './attacks/floods/floods-without-key.js';
import { fuzzing } from './attacks/responses/fuzzing.js';
import { hostileWebhooks } from './attacks/outside/hostile-webhooks.js';
import { installation } from './attacks/outside/installation.js';
import { jsonBombs } from './attacks/neighbours/json-bombs.js';
import { largeResponses } from './attacks/neighbours/large-responses.js';
import { logInjection } from './attacks/wire/log-injection.js';
import { manyKeys } from './attacks/memory/many-keys.js';
import { movedMembers } from './attacks/neighbours/moves.js';
import { neverReaders } from './attacks/wire/never-readers.js';
import { noisyTenant } from './attacks/floods/noisy-tenant.js';
import { rateLimit } from './attacks/floods/rate-limit.js';
import { sizes } from './attacks/wire/sizes.js';
import { slowReaders } from './attacks/memory/slow-readers.js';
import { slowSenders } from './attacks/wire/slow-senders.js';
import { sqlInjection } from './attacks/responses/sql-injection.js';
import { tenantIsolation } from './attacks/responses/tenant-isolation.js';
import { unpacking } from './attacks/memory/unpacking.js';
import { webhookSecrets } from './attacks/outside/webhook-secrets.js';
import type { Scenario } from './scenario.js';

/** Every fault that the service survives (docs/internals/reliability.md). */
const FAULTS: readonly Scenario[] = [
  killedService,
  killedServiceAndDatabase,
  killedServiceWithRunningDatabase,
  killedPostgres,
  silentPostgres,
  duplicates,
  disorder,
  concurrentWriters,
  poisonEvents,
  liveRebuild,
  severalProjectors,
  fullDisk,
  zonesAndClocks,
  longRun,
  fasterProducer,
  killedMigration,
  restored,
  ...noisyNeighbours,
  heavyNeighbour,
  failover,
  asynchronousFailover,
  troubledReplica,
  poolerUnavailable,
  rollingRestarts,
  killedDeliveries,
  takeOver,
  skewedClocks,
  lostPositions,
  groupsOnPostgres,
  groupsOnEventStore,
  copyOnPostgres,
  copyOnEventStore,
  consistencyTokens,
  eventStoreUnavailable,
  killedErasure,
  killedBuilders,
  manyListClients,
];

/** Every attack that the service withstands (docs/operations/security.md). */
const ATTACKS: readonly Scenario[] = [
  tenantIsolation,
  fuzzing,
  sizes,
  slowSenders,
  logInjection,
  rateLimit,
  cpuBombs,
  sqlInjection,
  installation,
  fanOut,
  descriptors,
  jsonBombs,
  noisyTenant,
  neverReaders,
  floodsWithoutKey,
  movedMembers,
  largeResponses,
  unpacking,
  manyKeys,
  slowReaders,
  hostileWebhooks,
  webhookSecrets,
];

export const SCENARIOS: readonly Scenario[] = [...FAULTS, ...ATTACKS];
