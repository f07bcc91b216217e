import { stands } from './stands.js';
import { tokensKept } from './tokens.js';

await stands(tokensKept);
