import { killedPostgres, silentPostgres } from './database-away.js';
import { stands } from './stands.js';

for (const fault of [killedPostgres, silentPostgres]) await stands(fault);
