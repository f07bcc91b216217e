import { skewedClocks } from './skewed-clocks.js';
import { stands } from './stands.js';

await stands(skewedClocks);
