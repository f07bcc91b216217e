import { fullDisk } from './full-disk.js';
import { liveRebuild } from './live-rebuild.js';
import { restored } from './restore.js';
import { stands } from './stands.js';

for (const fault of [liveRebuild, fullDisk, restored]) await stands(fault);
