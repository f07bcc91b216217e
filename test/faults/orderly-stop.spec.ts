import { stopped } from './orderly-stop.js';
import { stands } from './stands.js';

await stands(stopped);
