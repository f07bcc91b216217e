import { zonesAndClocks } from './clocks.js';
import { disorder, duplicates } from './deliveries.js';
import { stands } from './stands.js';

for (const fault of [duplicates, disorder, zonesAndClocks]) await stands(fault);
