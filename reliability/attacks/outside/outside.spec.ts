import { cpuBombs } from './cpu-bombs.js';
import { evasion } from './evasion.js';
import { handedOutLinks } from './handed-out-links.js';
import { hostileLists } from './hostile-lists.js';
import { hostileWebhooks } from './hostile-webhooks.js';
import { installation } from './installation.js';
import { outbound } from './outbound.js';
import { terminalEscapes } from './terminal-escapes.js';
import { webhookSecrets } from './webhook-secrets.js';
import { withstands } from '../withstands.js';

await withstands([
  cpuBombs,
  evasion,
  handedOutLinks,
  hostileLists,
  hostileWebhooks,
  installation,
  outbound,
  terminalEscapes,
  webhookSecrets,
]);
