import { killedDeliveries } from './webhooks-killed.js';
import { stands } from './stands.js';

await stands(killedDeliveries);
