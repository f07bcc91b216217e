import type { Scenario } from '../scenario.js';
import type { Attack } from './attack.js';
import { cpuBombs } from './outside/cpu-bombs.js';
import { descriptors } from './wire/descriptors.js';
import { evasion } from './outside/evasion.js';
import { fanOut } from './neighbours/fan-out.js';
import { floodsWithoutKey } from './floods/floods-without-key.js';
import { framing } from './wire/framing.js';
import { fuzzing } from './answers/fuzzing.js';
import { handedOutLinks } from './outside/handed-out-links.js';
import { hostileLists } from './outside/hostile-lists.js';
import { hostileWebhooks } from './outside/hostile-webhooks.js';
import { idempotency } from './answers/idempotency.js';
import { installation } from './outside/installation.js';
import { jsonBombs } from './neighbours/json-bombs.js';
import { keys } from './answers/keys.js';
import { largeAnswers } from './neighbours/large-answers.js';
import { logInjection } from './wire/log-injection.js';
import { manyKeys } from './memory/many-keys.js';
import { methods } from './answers/methods.js';
import { movedMembers } from './neighbours/moves.js';
import { neverReaders } from './wire/never-readers.js';
import { noisyTenant } from './floods/noisy-tenant.js';
import { outbound } from './outside/outbound.js';
import { rateLimit } from './floods/rate-limit.js';
import { sizes } from './wire/sizes.js';
import { slowReaders } from './memory/slow-readers.js';
import { slowSenders } from './wire/slow-senders.js';
import { sqlInjection } from './answers/sql-injection.js';
import { swallowedIds } from './neighbours/swallowed-ids.js';
import { tenantIsolation } from './answers/tenant-isolation.js';
import { terminalEscapes } from './outside/terminal-escapes.js';
import { unpacking } from './memory/unpacking.js';
import { webhookSecrets } from './outside/webhook-secrets.js';

/** Every attack that the service must withstand, as the goals number them. */
export const ATTACKS: readonly (Attack | Scenario)[] = [
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
