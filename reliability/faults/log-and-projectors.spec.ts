import { concurrentWriters } from './concurrent-writers.js';
import { severalProjectors } from './several-projectors.js';
import { poisonEvents } from './poison.js';
import { takenOver } from './take-over.js';
import { stands } from './stands.js';

for (const fault of [concurrentWriters, poisonEvents, severalProjectors, takenOver]) await stands(fault);
