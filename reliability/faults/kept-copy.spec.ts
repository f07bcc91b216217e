import { copyOnEventStore, copyOnPostgres } from './kept-copy.js';
import { stands } from './stands.js';

for (const fault of [copyOnPostgres, copyOnEventStore]) await stands(fault);
