import { cpuBombs } from './cpu-bombs.js';
import { evasion } from './evasion.js';
import { handedOutLinks } from './handed-out-links.js';
import { hostileLists } from './hostile-lists.js';
import { installation } from './installation.js';
import { outbound } from './outbound.js';
import { terminalEscapes } from './terminal-escapes.js';
import { withstands } from './withstands.js';

await withstands([cpuBombs, evasion, handedOutLinks, hostileLists, installation, outbound, terminalEscapes]);
