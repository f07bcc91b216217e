import type { Attack } from './attack.js';
import { cpuBombs } from './cpu-bombs.js';
import { descriptors } from './descriptors.js';
import { evasion } from './evasion.js';
import { fanOut } from './fan-out.js';
import { floodsWithoutKey } from './floods-without-key.js';
import { framing } from './framing.js';
import { fuzzing } from './fuzzing.js';
import { handedOutLinks } from './handed-out-links.js';
import { hostileLists } from './hostile-lists.js';
import { hostileWebhooks } from './hostile-webhooks.js';
import { idempotency } from './idempotency.js';
import { installation } from './installation.js';
import { jsonBombs } from './json-bombs.js';
import { keys } from './keys.js';
import { largeAnswers } from './large-answers.js';
import { logInjection } from './log-injection.js';
import { manyKeys } from './many-keys.js';
import { methods } from './methods.js';
import { movedMembers } from './moves.js';
import { neverReaders } from './never-readers.js';
import { noisyTenant } from './noisy-tenant.js';
import { outbound } from './outbound.js';
import { rateLimit } from './rate-limit.js';
import { recordsIsolation } from './records-isolation.js';
import { sizes } from './sizes.js';
import { slowReaders } from './slow-readers.js';
import { slowSenders } from './slow-senders.js';
import { sqlInjection } from './sql-injection.js';
import { swallowedIds } from './swallowed-ids.js';
import { tenantIsolation } from './tenant-isolation.js';
import { terminalEscapes } from './terminal-escapes.js';
import { unpacking } from './unpacking.js';
import { webhookSecrets } from './webhook-secrets.js';

/** Every attack that the service must withstand, as the goals number them. */
export const ATTACKS: readonly Attack[] = [
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
  recordsIsolation,
  hostileWebhooks,
  webhookSecrets,
];
