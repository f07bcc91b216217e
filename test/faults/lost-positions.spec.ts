import { lostPositions } from './lost-positions.js';
import { stands } from './stands.js';

await stands(lostPositions);
