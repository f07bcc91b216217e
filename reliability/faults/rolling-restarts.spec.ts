import { rollingRestarts } from './rolling-restarts.js';
import { stands } from './stands.js';

await stands(rollingRestarts);
