import { fasterProducer } from './faster-producer.js';
import { loudNeighbour } from './loud-neighbour.js';
import { stands } from './stands.js';

// Half an hour (F17) is for `npm run test:faults`; the heaviest events (F24) are sent by S16 too.
for (const fault of [fasterProducer, loudNeighbour]) await stands(fault);
