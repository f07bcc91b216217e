import { killedPostgres, silentPostgres } from './database-away.js';
import { asynchronousFailover, failover } from './failover.js';
import { zonesAndClocks } from './clocks.js';
import { concurrentWriters } from './concurrent-writers.js';
import { disorder, duplicates } from './deliveries.js';
import { eventStoreAway } from './event-store-away.js';
import { fullDisk } from './full-disk.js';
import { asFault, type Fault } from './fault.js';
import { groupsOnEventStore, groupsOnPostgres } from './groups-killed.js';
import { killedService, killedServiceAndDatabase, leftDatabase } from './killed.js';
import { liveRebuild } from './live-rebuild.js';
import { heavyNeighbour } from './heavy-neighbour.js';
import { copyOnEventStore, copyOnPostgres } from './kept-copy.js';
import { killedMigration } from './migrations.js';
import { poisonEvents } from './poison.js';
import { poolerAway } from './pooler-away.js';
import { fasterProducer } from './faster-producer.js';
import { lostPositions } from './lost-positions.js';
import { longRun } from './long-run.js';
import { loudNeighbour } from './loud-neighbour.js';
import { troubledReplica } from './replica.js';
import { restored } from './restore.js';
import { rollingRestarts } from './rolling-restarts.js';
import { severalProjectors } from './several-projectors.js';
import { skewedClocks } from './skewed-clocks.js';
import { takenOver } from './take-over.js';
import { tokensKept } from './tokens.js';
import { killedDeliveries } from './webhooks-killed.js';

/** Every fault that the service is put through here, as the goals number them. */
export const FAULTS: readonly Fault[] = [
  asFault(killedService),
  killedServiceAndDatabase,
  leftDatabase,
  asFault(killedPostgres),
  silentPostgres,
  duplicates,
  disorder,
  asFault(concurrentWriters),
  asFault(poisonEvents),
  liveRebuild,
  severalProjectors,
  fullDisk,
  zonesAndClocks,
  longRun,
  fasterProducer,
  asFault(killedMigration),
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
