import { silentPostgres } from './database-away.js';
import { stands } from './stands.js';

for (const fault of [silentPostgres]) await stands(fault);
