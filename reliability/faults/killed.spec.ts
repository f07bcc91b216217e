import { killedServiceAndDatabase, leftDatabase } from './killed.js';
import { stands } from './stands.js';

for (const fault of [killedServiceAndDatabase, leftDatabase]) await stands(fault);
