import { killedPostgres, silentPostgres } from './faults/database-away.js';
import { asynchronousFailover, failover } from './faults/failover.js';
import { zonesAndClocks } from './faults/clocks.js';
import { concurrentWriters } from './faults/concurrent-writers.js';
import { disorder, duplicates } from './faults/deliveries.js';
import { eventStoreAway } from './faults/event-store-away.js';
import { fullDisk } from './faults/full-disk.js';
import { groupsOnEventStore, groupsOnPostgres } from './faults/groups-killed.js';
import { killedService, killedServiceAndDatabase, leftDatabase } from './faults/killed.js';
import { liveRebuild } from './faults/live-rebuild.js';
import { heavyNeighbour } from './faults/heavy-neighbour.js';
import { copyOnEventStore, copyOnPostgres } from './faults/kept-copy.js';
import { killedMigration } from './faults/migrations.js';
import { poisonEvents } from './faults/poison.js';
import { poolerAway } from './faults/pooler-away.js';
import { fasterProducer } from './faults/faster-producer.js';
import { lostPositions } from './faults/lost-positions.js';
import { longRun } from './faults/long-run.js';
import { loudNeighbour } from './faults/loud-neighbour.js';
import { troubledReplica } from './faults/replica.js';
import { restored } from './faults/restore.js';
import { rollingRestarts } from './faults/rolling-restarts.js';
import { severalProjectors } from './faults/several-projectors.js';
import { skewedClocks } from './faults/skewed-clocks.js';
import { takenOver } from './faults/take-over.js';
import { tokensKept } from './faults/tokens.js';
import { killedDeliveries } from './faults/webhooks-killed.js';
import { cpuBombs } from './attacks/outside/cpu-bombs.js';
import { descriptors } from './attacks/wire/descriptors.js';
import { evasion } from './attacks/outside/evasion.js';
import { fanOut } from './attacks/neighbours/fan-out.js';
import { floodsWithoutKey } from './attacks/floods/floods-without-key.js';
import { framing } from './attacks/wire/framing.js';
import { fuzzing } from './attacks/answers/fuzzing.js';
import { handedOutLinks } from './attacks/outside/handed-out-links.js';
import { hostileLists } from './attacks/outside/hostile-lists.js';
import { hostileWebhooks } from './attacks/outside/hostile-webhooks.js';
import { idempotency } from './attacks/answers/idempotency.js';
import { installation } from './attacks/outside/installation.js';
import { jsonBombs } from './attacks/neighbours/json-bombs.js';
import { keys } from './attacks/answers/keys.js';
import { largeAnswers } from './attacks/neighbours/large-answers.js';
import { logInjection } from './attacks/wire/log-injection.js';
import { manyKeys } from './attacks/memory/many-keys.js';
import { methods } from './attacks/answers/methods.js';
import { movedMembers } from './attacks/neighbours/moves.js';
import { neverReaders } from './attacks/wire/never-readers.js';
import { noisyTenant } from './attacks/floods/noisy-tenant.js';
import { outbound } from './attacks/outside/outbound.js';
import { rateLimit } from './attacks/floods/rate-limit.js';
import { sizes } from './attacks/wire/sizes.js';
import { slowReaders } from './attacks/memory/slow-readers.js';
import { slowSenders } from './attacks/wire/slow-senders.js';
import { sqlInjection } from './attacks/answers/sql-injection.js';
import { swallowedIds } from './attacks/neighbours/swallowed-ids.js';
import { tenantIsolation } from './attacks/answers/tenant-isolation.js';
import { terminalEscapes } from './attacks/outside/terminal-escapes.js';
import { unpacking } from './attacks/memory/unpacking.js';
import { webhookSecrets } from './attacks/outside/webhook-secrets.js';
import type { Scenario } from './scenario.js';

/** Every fault that the service survives (docs/internals/reliability.md). */
const FAULTS: readonly Scenario[] = [
  killedService,
  killedServiceAndDatabase,
  leftDatabase,
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
  loudNeighbour,
  heavyNeighbour,
  failover,
  asynchronousFailover,
  troubledReplica,
  poolerAway,
  rollingRestarts,
  killedDeliveries,
  takenOver,
  skewedClocks,
  lostPositions,
  groupsOnPostgres,
  groupsOnEventStore,
  copyOnPostgres,
  copyOnEventStore,
  tokensKept,
  eventStoreAway,
];

/** Every attack that the service withstands (docs/operations/security.md). */
const ATTACKS: readonly Scenario[] = [
  tenantIsolation,
  keys,
  fuzzing,
  sizes,
  slowSenders,
  logInjection,
  framing,
  methods,
  outbound,
  rateLimit,
  cpuBombs,
  sqlInjection,
  idempotency,
  hostileLists,
  installation,
  fanOut,
  descriptors,
  swallowedIds,
  jsonBombs,
  evasion,
  noisyTenant,
  neverReaders,
  floodsWithoutKey,
  terminalEscapes,
  movedMembers,
  largeAnswers,
  unpacking,
  manyKeys,
  slowReaders,
  handedOutLinks,
  hostileWebhooks,
  webhookSecrets,
];

export const SCENARIOS: readonly Scenario[] = [...FAULTS, ...ATTACKS];
