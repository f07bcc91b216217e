import { groupsOnEventStore, groupsOnPostgres } from './groups-killed.js';
import { stands } from './stands.js';

for (const fault of [groupsOnPostgres, groupsOnEventStore]) await stands(fault);
