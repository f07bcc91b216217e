import { eventStoreAway } from './event-store-away.js';
import { stands } from './stands.js';

await stands(eventStoreAway);
