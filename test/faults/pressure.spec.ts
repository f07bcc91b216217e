import { fasterProducer } from './faster-producer.js';
import { heavyNeighbour } from './heavy-neighbour.js';
import { loudNeighbour } from './loud-neighbour.js';
import { stands } from './stands.js';

// Half an hour (F17) is for `npm run test:faults`.
for (const fault of [fasterProducer, loudNeighbour, heavyNeighbour]) await stands(fault);
