import { troubledReplica } from './replica.js';
import { stands } from './stands.js';

await stands(troubledReplica);
