import { severalProjectors } from './several-projectors.js';
import { takenOver } from './take-over.js';
import { stands } from './stands.js';

for (const fault of [severalProjectors, takenOver]) await stands(fault);
