import { fullDisk } from './full-disk.js';
import { liveRebuild } from './live-rebuild.js';
import { killedMigration } from './migrations.js';
import { restored } from './restore.js';
import { stands } from './stands.js';

for (const fault of [liveRebuild, fullDisk, killedMigration, restored]) await stands(fault);
