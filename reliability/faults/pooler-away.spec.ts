import { poolerAway } from './pooler-away.js';
import { stands } from './stands.js';

await stands(poolerAway);
