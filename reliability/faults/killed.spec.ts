import { killedService, killedServiceAndDatabase, leftDatabase } from './killed.js';
import { stands } from './stands.js';

for (const fault of [killedService, killedServiceAndDatabase, leftDatabase]) await stands(fault);
